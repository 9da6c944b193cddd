/** Forks workers, starts them at the same moment, and measures until the last one has ended. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** A worker's report at its end. */
export interface Report {
  readonly tasks: number
  /** The moment of the last completion, in epoch milliseconds. */
  readonly ended: number
  /** How many tasks had been completed by which moments, in order. */
  readonly progress: readonly (readonly [at: number, tasks: number])[]
}

/** Progress is noted no more often than this, which is exact enough for a comparison. */
const stepMs = 5

/** Counts the tasks that a worker completes. */
export class Progress implements Report {
  tasks = 0
  ended = 0
  readonly progress: [number, number][] = []

  add(count: number): void {
    this.tasks += count
    this.ended = performance.timeOrigin + performance.now()
    const [last] = this.progress.at(-1) ?? [0]
    if (this.ended - last >= stepMs) this.progress.push([this.ended, this.tasks])
  }
}

/** Returns how many tasks the workers complete together in a second. */
export async function race(script: string, orders: readonly object[], expected: number): Promise<number> {
  const { started, reports } = await start(script, orders)
  const tasks = reports.reduce((sum, each) => sum + each.tasks, 0)
  if (tasks !== expected) throw new Error(`${script} finished ${tasks} of ${expected} tasks`)
  return (expected / (Math.max(...reports.map(({ ended }) => ended)) - started)) * 1000
}

/**
 * Returns how many tasks the first worker completes for each task of the second, until one of them has ended. They run at the
 * same time on separate backlogs, so that other load on the machine slows both.
 */
export async function compare(script: string, orders: readonly [object, object], expectedOfEach: number): Promise<number> {
  const { reports } = await start(script, orders)
  const short = reports.find(({ tasks }) => tasks !== expectedOfEach)
  if (short) throw new Error(`${script} finished ${short.tasks} of ${expectedOfEach} tasks`)
  const end = Math.min(...reports.map(({ ended }) => ended))
  const [first, second] = reports.map(({ progress }) => tasksBy(end, progress)) as [number, number]
  return first / second
}

async function start(script: string, orders: readonly object[]): Promise<{ started: number; reports: readonly Report[] }> {
  const workers: ChildProcess[] = []
  for (const order of orders) {
    const worker = fork(new URL(script, import.meta.url), { stdio: 'inherit' })
    const ready = once(worker, 'message')
    worker.send(order)
    await ready
    workers.push(worker)
  }
  const started = performance.timeOrigin + performance.now()
  const reports = workers.map(async (worker) => {
    worker.send('go')
    const [report] = (await once(worker, 'message')) as [Report]
    await once(worker, 'exit')
    return report
  })
  return { started, reports: await Promise.all(reports) }
}

/** Tasks between two notes of progress count as evenly spread. */
function tasksBy(end: number, progress: Report['progress']): number {
  const next = progress.findIndex(([at]) => at >= end)
  const [at, tasks] = progress[next] ?? progress.at(-1) ?? [0, 0]
  const [before, fewer] = progress[next - 1] ?? [at, tasks]
  return at > before ? fewer + ((tasks - fewer) * (end - before)) / (at - before) : tasks
}
