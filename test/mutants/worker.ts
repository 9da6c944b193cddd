/**
 * The process that runs tests. It stays alive, keeps the sources that it has loaded, and becomes one mutant after the other. It
 * is a vitest worker that gets its files as `Job`s over the channel of the process, one at a time.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { RunnerTask, RunnerTestFile, WorkerGlobalState } from 'vitest'
import { init, runBaseTests, setupEnvironment } from 'vitest/worker'
import { coverage } from './coverage.ts'
import type { Answer, Job, TestResult } from './job.ts'

declare global {
  /** The mutated sources call this function. */
  var __mutant: (id: number) => boolean
}

const send = process.send!.bind(process)
// Whoever interrupts the run does not reach this process.
process.on('disconnect', () => process.exit())
let next: (job: Job) => void = () => {}
process.on('message', (message: { readonly job?: Job }) => message.job && next(message.job))

init({
  post: (message) => send(message),
  on: (listener) => process.on('message', listener),
  off: (listener) => process.off('message', listener),
  setup: setupEnvironment,
  runTests: work,
  collectTests: () => {},
})

const folder = process.env['TASKSTREAM_MUTANTS']
if (folder) {
  process.env['NODE_OPTIONS'] = `--import=${pathToFileURL(join(import.meta.dirname, 'child.ts')).href}`
  // Most of the time of such a process goes into making its sources ready to run.
  process.env['NODE_COMPILE_CACHE'] = join(folder, 'compiled')
}

/** Returns the places that ended processes have left since the last call. */
function reachedByChildren(): number[] {
  if (!folder) return []
  const left = readdirSync(folder).filter((name) => name.startsWith('reached-'))
  return left.flatMap((name) => {
    const ids = JSON.parse(readFileSync(join(folder, name), 'utf8')) as number[]
    rmSync(join(folder, name))
    return ids
  })
}

/** Runs jobs until one says that it is the last. */
async function work(given: WorkerGlobalState, traces: Parameters<typeof runBaseTests>[2]): Promise<void> {
  for (;;) {
    const job = await new Promise<Job>((resolve) => {
      next = resolve
      send({ ready: true })
    })
    if (job.end) return
    send({ answer: await run(job, given, traces) })
  }
}

async function run(job: Job, given: WorkerGlobalState, traces: Parameters<typeof runBaseTests>[2]): Promise<Answer> {
  const files: RunnerTestFile[] = []
  const seen = coverage(job.mutants, job.active, reachedByChildren)
  const config = {
    ...given.config,
    // Every file loads its modules anew, so code that runs while a module is loaded is the mutant's too.
    isolate: true,
    bail: job.bail ? 1 : 0,
    testTimeout: job.testTimeoutMs,
    hookTimeout: job.testTimeoutMs,
    expect: { ...given.config.expect, poll: { ...given.config.expect.poll, timeout: job.factTimeoutMs } },
  }
  // vitest hears nothing of the tests; the answer tells what happened.
  const rpc = new Proxy(given.rpc, {
    get: (target, name) => {
      if (name === 'onCollected') {
        return async (collected: RunnerTestFile[]) => {
          files.push(...collected)
          seen.loaded()
        }
      }
      if (name === 'getCountOfFailedTests') return async () => 0
      if (typeof name === 'string' && unheard.has(name)) return async () => {}
      return Reflect.get(target, name)
    },
  })
  const specification = { filepath: job.file, ...(job.tests && { testIds: [...job.tests] }) }
  const state = { ...given, rpc, config, ctx: { ...given.ctx, config, rpc, files: [specification] } } as WorkerGlobalState
  // vitest sets this property to the test whose turn it is.
  let current: RunnerTask | undefined
  Object.defineProperty(state, 'current', {
    get: () => current,
    set: (task: RunnerTask | undefined) => {
      seen.turn(current && !('filepath' in current) ? current.id : undefined)
      current = task
    },
  })
  globalThis.__mutant = seen.ask
  process.env['TASKSTREAM_MUTANT'] = String(job.active)
  try {
    await runBaseTests('run', state, traces)
  } finally {
    seen.turn()
    globalThis.__mutant = () => false
  }
  return {
    tests: files.flatMap((file) => resultsOf(file)),
    failed: files.flatMap(failureOf)[0],
    ...seen.found(),
    memory: process.memoryUsage.rss(),
  }
}

const unheard = new Set([
  'onQueued',
  'onTaskUpdate',
  'onTaskArtifactRecord',
  'onCancel',
  'onUnhandledError',
  'onUserConsoleLog',
  'onAfterSuiteRun',
  'snapshotSaved',
  'onAsyncLeaks',
  'onTestModuleDependencies',
])

function resultsOf(task: RunnerTask, suites: readonly string[] = []): TestResult[] {
  if (task.type === 'suite') {
    const inside = 'filepath' in task ? [] : [...suites, task.id]
    return task.tasks.flatMap((one) => resultsOf(one, inside))
  }
  const { id, fullTestName: name, result: { state, duration: ms = 0, errors } = {} } = task
  if (state !== 'pass' && state !== 'fail') return []
  return [{ id, name, suites, passed: state === 'pass', ms, ...(errors?.[0] && { error: errors[0].message }) }]
}

/** Returns errors outside of tests: a file that cannot be loaded, or a hook. */
function failureOf(task: RunnerTask): string[] {
  if (task.type !== 'suite') return []
  const own = task.result?.state === 'fail' ? (task.result.errors ?? []).map(({ message }) => message) : []
  return [...own, ...task.tasks.flatMap(failureOf)]
}
