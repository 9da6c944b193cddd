/** Runs `taskstream work` as a process of its own, on the topic of the running test. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { useFixture } from '@taskstream/task-testing/suite'
import type { Fixture } from '@taskstream/task-testing/suite'
import { afterEach, beforeEach, expect } from 'vitest'
import { newMark } from '../processes.ts'
import { engine } from '../subject.ts'
import type { Subject } from '../subject.ts'
import { urlOf } from './command-line.ts'
import type { Run } from './command-line.ts'

/** A worker that runs. */
interface Working {
  /** What it has printed up to now. */
  readonly err: () => string
  readonly kill: (signal: NodeJS.Signals) => void
  readonly ended: Promise<Run>
}

interface Workers {
  readonly fixture: Fixture<Subject>
  /** How long the programs of these tests sleep, a number that no other process has. */
  readonly mark: string
  /** The ids of the processes that sleep so long, and have not ended. */
  readonly sleeps: () => readonly number[]
  /** The folder of the running test, in which its workers run and have their temporary files. */
  readonly folder: () => string
  /** Starts a worker for the topic of the test. */
  readonly start: (...args: readonly string[]) => Working
  /** Runs a worker until no task is ready, and expects that it ends well. */
  readonly work: (...args: readonly string[]) => Promise<Run>
}

const cli = join(import.meta.dirname, '..', '..', 'packages', 'task-cli', 'src', 'cli.ts')

export function useWorkers(env: Readonly<Record<string, string>> = {}): Workers {
  const fixture = useFixture(engine)
  const mark = newMark()
  const running = new Set<Working>()
  let folder = ''
  const sleeps = (): number[] => {
    const lines = execFileSync('ps', ['-A', '-o', 'pid=,stat=,args='], { encoding: 'utf8' }).split('\n')
    const found = lines.map((line) => /^ *(\d+) +([^Z ]\S*) +(.*)$/.exec(line))
    return found.filter((one) => one?.[3] === `sleep ${mark}`).map((one) => Number(one![1]))
  }
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'work-'))))
  afterEach(async () => {
    for (const { kill } of running) kill('SIGKILL')
    await Promise.all([...running].map(({ ended }) => ended))
    rmSync(folder, { recursive: true, force: true })
    try {
      // Whatever a test does, nothing of it goes on.
      await expect.poll(sleeps).toEqual([])
    } finally {
      for (const id of sleeps()) process.kill(id)
    }
  })

  const start = (...args: readonly string[]): Working => {
    const words = ['--no-warnings', '--conditions=@taskstream/source', cli, 'work', fixture.topic, ...args]
    const child = spawn(process.execPath, words, {
      cwd: folder,
      env: { ...process.env, TMPDIR: folder, ...env, TASKSTREAM_URL: urlOf(fixture.subject) },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let [out, err] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
    const ended = new Promise<Run>((resolve) => child.on('close', (code) => resolve({ code, out, err })))
    const working = { err: () => err, kill: (signal: NodeJS.Signals) => void child.kill(signal), ended }
    running.add(working)
    void ended.then(() => running.delete(working))
    return working
  }
  return {
    fixture,
    mark,
    sleeps,
    folder: () => folder,
    start,
    work: async (...args) => {
      // Options stand before the program.
      const dashes = args.indexOf('--')
      const [options, program] = dashes < 0 ? [args, []] : [args.slice(0, dashes), args.slice(dashes)]
      const run = await start(...options, '--until-empty', ...program).ended
      expect(run).toMatchObject({ code: 0, out: '', err: expect.stringMatching(/\nstopped: /) as string })
      return run
    },
  }
}
