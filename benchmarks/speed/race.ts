/** Forks drain processes, starts them at the same moment, and measures until all tasks are done. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { costOf, Rate, spend } from './cost.ts'
import type { Meter, Spent } from './cost.ts'
import { meterOf } from './cost.ts'
import type { DrainOrder } from './drain-order.ts'

/** What a process tells, and at its end all of it. */
export interface Report {
  readonly tasks: number
  /** The moment of the last completion that was stored, in epoch milliseconds. */
  readonly ended: number
  /** Microseconds of the processor since the start. */
  readonly cpuUs: number
  /** The most memory that it had. */
  readonly bytes: number
  /** How many tasks had been completed by which moments, in order. */
  readonly progress: readonly (readonly [at: number, tasks: number])[]
}

/** A drain that has done nothing for so long stands still. */
const silenceMs = 60_000
const nothing: Report = { tasks: 0, ended: 0, cpuUs: 0, bytes: 0, progress: [] }

export interface RaceOptions {
  /** A drain that is slow ends after so many milliseconds, and its rate is of what was done by then. */
  readonly mostMs?: number
  /** Reads what the server spends. Default: the PostgreSQL of the first order. */
  readonly meter?: Meter
}

/** Returns how many tasks the processes complete together in a second. */
export async function race(orders: readonly DrainOrder[], expected: number, options: RaceOptions = {}): Promise<Rate> {
  const { started, spent, reports } = await run(orders, (all) => sum(all) >= expected, options)
  const tasks = sum(reports)
  if (tasks > expected) throw new Error(`${orders[0]!.subject} finished ${tasks} of ${expected} tasks`)
  const ms = tasks === expected ? Math.max(...reports.map(({ ended }) => ended)) - started : spent.ms
  // Without a task there is nothing by which the cost could be divided.
  const cost = tasks > 0 ? costOf(tasks, spent) : { processUs: null, serverUs: null, logBytes: null }
  return new Rate((tasks / ms) * 1000, cost)
}

/**
 * Returns how many tasks the first process completes for each task of the second, until one of them has ended. They run at the
 * same time on separate backlogs, so that other load on the machine slows both.
 */
export async function compare(orders: readonly [DrainOrder, DrainOrder], expectedOfEach: number): Promise<number> {
  const { reports } = await run(orders, (all) => all.every(({ tasks }) => tasks >= expectedOfEach), {})
  const end = Math.min(...reports.map(({ ended }) => ended))
  const [first, second] = reports.map(({ progress }) => tasksBy(end, progress)) as [number, number]
  return first / second
}

/** The most memory, in bytes, of a process that completes so many tasks. @param flags of Node.js */
export async function mostMemory(order: DrainOrder, expected: number, flags: readonly string[]): Promise<number> {
  const { reports } = await run([order], (all) => sum(all) >= expected, {}, flags)
  return reports[0]!.bytes
}

function sum(reports: readonly Report[]): number {
  return reports.reduce((all, { tasks }) => all + tasks, 0)
}

type IsDone = (reports: readonly Report[]) => boolean

interface Run {
  readonly started: number
  /** Until all were done, with the processor time of the processes. */
  readonly spent: Spent
  readonly reports: readonly Report[]
}

async function run(
  orders: readonly DrainOrder[],
  isDone: IsDone,
  options: RaceOptions,
  flags: readonly string[] = [],
): Promise<Run> {
  const [{ connection, subject }] = orders as [DrainOrder]
  await using own = options.meter ? undefined : await meterOf(connection)
  const workers: Worker[] = []
  try {
    for (const order of orders) workers.push(new Worker(order, flags))
    await Promise.all(workers.map(({ ready }) => ready))
    let started = 0
    const spent = await spend(options.meter ?? own!, () => {
      started = performance.timeOrigin + performance.now()
      for (const worker of workers) worker.send('go')
      return untilDone(workers, isDone, subject, options.mostMs)
    })
    const processUs = workers.reduce((all, { report }) => all + report.cpuUs, 0)
    await Promise.all(workers.map((worker) => worker.stop()))
    return { started, spent: { ...spent, processUs }, reports: workers.map(({ report }) => report) }
  } finally {
    for (const worker of workers) worker.end()
  }
}

/** Resolves when all tasks are done, or the time is up. */
function untilDone(workers: readonly Worker[], isDone: IsDone, subject: string, mostMs?: number): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const told = (): string => `${workers.map(({ report }) => report.tasks).join(' + ')} tasks`
    const still = (): void => reject(new Error(`${subject} stands still after ${told()}`))
    let silence = setTimeout(still, silenceMs)
    const limit = mostMs === undefined ? undefined : setTimeout(finish, mostMs)
    function finish(): void {
      clearTimeout(silence)
      clearTimeout(limit)
      resolve()
    }
    for (const worker of workers) {
      worker.onReport = () => {
        clearTimeout(silence)
        silence = setTimeout(still, silenceMs)
        if (isDone(workers.map(({ report }) => report))) finish()
      }
      worker.onExit = () => reject(new Error(`A process of ${subject} has ended after ${told()}`))
    }
  })
}

class Worker {
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>
  readonly ready: Promise<void>
  report: Report = nothing
  onReport: () => void = () => {}
  onExit: () => void = () => {}

  constructor(order: DrainOrder, flags: readonly string[]) {
    const execArgv = [...process.execArgv, ...flags]
    // graphile-worker's own benchmark logs no successes either. The variable is read when it is loaded.
    const env = { ...process.env, NO_LOG_SUCCESS: '1' }
    const child = fork(new URL('drain-worker.ts', import.meta.url), { stdio: 'inherit', execArgv, env })
    this.#child = child
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.ready = promise
    this.#exited = once(child, 'exit').then(() => {
      reject(new Error(`A process of ${order.subject} has ended before it was ready`))
      this.onExit()
    })
    child.on('message', (message: 'ready' | Partial<Report>) => {
      if (message === 'ready') return resolve()
      this.report = { ...this.report, ...message }
      this.onReport()
    })
    child.send(order)
  }

  send(word: 'go' | 'stop'): void {
    this.#child.send(word)
  }

  async stop(): Promise<void> {
    this.onReport = () => {}
    this.onExit = () => {}
    this.send('stop')
    await this.#exited
  }

  end(): void {
    this.onExit = () => {}
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGKILL')
  }
}

/** Tasks between two notes of progress count as evenly spread. */
function tasksBy(end: number, progress: Report['progress']): number {
  const next = progress.findIndex(([at]) => at >= end)
  const [at, tasks] = progress[next] ?? progress.at(-1) ?? [0, 0]
  const [before, fewer] = progress[next - 1] ?? [at, tasks]
  return at > before ? fewer + ((tasks - fewer) * (end - before)) / (at - before) : tasks
}
