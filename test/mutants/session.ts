/** Runs vitest with one worker that runs a given file as a given mutant. A worker that hangs is replaced. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createVitest } from 'vitest/node'
import type { PoolOptions, PoolWorker, TestSpecification, Vitest, WorkerRequest } from 'vitest/node'
import type { Answer, Job } from './job.ts'

export interface SessionOptions {
  readonly root: string
  /** The settings of the vitest project: `include`, `exclude` and `env`. */
  readonly test: {
    readonly include: readonly string[]
    readonly exclude: readonly string[]
    readonly env: Readonly<Record<string, string>>
  }
  /** The mutated sources by absolute path. */
  readonly sources: ReadonlyMap<string, string>
  /** Whether processes that tests start are the mutant too. */
  readonly children?: boolean
}

/** A process that takes more memory, in bytes, is replaced. */
const mostMemory = 1.2e9

export class Session implements AsyncDisposable {
  readonly #vitest: Vitest
  readonly #specification: TestSpecification
  /** The test files. */
  readonly files: readonly string[]
  readonly #worker: { current: Worker | undefined }
  #run: Promise<unknown> | undefined
  readonly #folder: string | undefined

  private constructor(
    vitest: Vitest,
    specifications: readonly TestSpecification[],
    worker: { current: Worker | undefined },
    folder: string | undefined,
  ) {
    this.#folder = folder
    this.#vitest = vitest
    this.#specification = specifications[0]!
    this.files = specifications.map(({ moduleId }) => moduleId)
    this.#worker = worker
  }

  static async open({ root, test, sources, children = false }: SessionOptions): Promise<Session> {
    const worker: { current: Worker | undefined } = { current: undefined }
    const folder = children ? await writeSources(sources) : undefined
    const vitest = await createVitest(
      'test',
      {
        config: false,
        root,
        watch: false,
        include: [...test.include],
        exclude: [...test.exclude],
        env: { ...test.env, ...(folder && { TASKSTREAM_MUTANTS: folder }) },
        reporters: [{}],
        isolate: false,
        // The cache goes by the file, and would miss what the plugin makes of it.
        fsModuleCache: false,
        maxWorkers: 1,
        pool: { name: 'mutants', createPoolWorker: (options: PoolOptions) => (worker.current = new Worker(options)) },
      },
      {
        ssr: { resolve: { conditions: ['@taskstream/source'] } },
        plugins: [
          {
            name: 'mutants',
            enforce: 'pre',
            transform: (_code, id) => {
              const code = sources.get(id.split('?')[0] ?? '')
              return code === undefined ? undefined : { code, map: null }
            },
          },
        ],
      },
    )
    return new Session(vitest, await vitest.globTestSpecifications(), worker, folder)
  }

  /** Runs a job. Undefined if it took longer than `limitMs`; its process has been ended then. */
  async ask(job: Job, limitMs: number): Promise<Answer | undefined> {
    if (!this.#run) {
      this.#worker.current = undefined
      this.#run = this.#vitest.runTestSpecifications([this.#specification])
      // Ending a worker on purpose rejects the run, which is no error.
      this.#run.catch(() => {})
    }
    const worker = await this.#started()
    await worker.ready()
    const answer = await worker.ask(job, limitMs)
    if (!answer || answer.memory > mostMemory) await this.restart()
    return answer
  }

  /** Ends the process, so that a new one runs the next file. */
  async restart(): Promise<void> {
    this.#worker.current?.kill()
    await this.#run?.catch(() => {})
    this.#run = undefined
  }

  async #started(): Promise<Worker> {
    while (!this.#worker.current?.isStarted) await new Promise((resolve) => setTimeout(resolve, 20))
    return this.#worker.current
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.restart()
    await this.#vitest.close()
    if (this.#folder) await rm(this.#folder, { recursive: true, force: true })
  }
}

/** Writes the mutated sources where the processes that tests start find them. */
async function writeSources(sources: ReadonlyMap<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'taskstream-mutants-'))
  const places = [...sources.keys()].map((file, index) => [file, join(folder, `${index}.ts`)] as const)
  for (const [file, place] of places) await writeFile(place, sources.get(file)!)
  await writeFile(join(folder, 'sources.json'), JSON.stringify(places))
  return folder
}

interface Message {
  readonly ready?: true
  readonly answer?: Answer
}

/** A process of vitest whose output nobody reads. */
class Worker implements PoolWorker {
  readonly name = 'mutants'
  readonly #options: PoolOptions
  #process: ChildProcess | undefined
  #isReady = false
  #heard: (message: Message) => void = () => {}

  constructor(options: PoolOptions) {
    this.#options = options
  }

  get isStarted(): boolean {
    return this.#process !== undefined
  }

  async start(): Promise<void> {
    const { env, execArgv } = this.#options
    this.#process ??= fork(join(import.meta.dirname, 'worker.ts'), {
      env: env as NodeJS.ProcessEnv,
      execArgv: [...execArgv, '--no-warnings'],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      serialization: 'advanced',
      // It is ended together with the processes that its tests have started.
      detached: true,
    })
    this.#process.on('message', (message: Message) => {
      if (message.ready) this.#isReady = true
      this.#heard(message)
    })
  }

  async stop(): Promise<void> {
    this.kill()
  }

  on(event: string, listener: (...args: unknown[]) => void): void {
    this.#process?.on(event, listener)
  }

  off(event: string, listener: (...args: unknown[]) => void): void {
    this.#process?.off(event, listener)
  }

  send(message: WorkerRequest): void {
    if (this.#process?.connected) this.#process.send(message)
  }

  deserialize(data: unknown): unknown {
    return data
  }

  async ready(): Promise<void> {
    if (this.#isReady) return
    await new Promise<void>((resolve) => (this.#heard = ({ ready }) => ready && resolve()))
  }

  ask(job: Job, limitMs: number): Promise<Answer | undefined> {
    this.#isReady = false
    return new Promise((resolve) => {
      const end = (answer?: Answer): void => {
        clearTimeout(late)
        this.#process?.off('exit', gone)
        resolve(answer)
      }
      const gone = (): void => end()
      const late = setTimeout(end, limitMs)
      this.#process?.once('exit', gone)
      this.#heard = ({ answer }) => answer && end(answer)
      this.#process?.send({ job })
    })
  }

  kill(): void {
    const { pid, exitCode, signalCode } = this.#process ?? {}
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL')
  }
}
