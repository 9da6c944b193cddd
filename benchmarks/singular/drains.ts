/**
 * Drains of topics by a node whose handler does nothing: how many tasks a second, and what a task costs this process and the server. A batch of an identifier
 * is one task, so a topic of one identifier needs a poll and a completion for each.
 */
import { readdirSync, readFileSync } from 'node:fs'
import type { Execution, TopicOptions, TransactionSource } from '@taskstream/task-api'
import { eachTask, TaskNode } from '@taskstream/task-processor'
import type { SqlTaskRepository } from '@taskstream/task-sql'

export interface Subject {
  readonly name: string
  readonly tasks: SqlTaskRepository<never, Execution>
  readonly transactions: TransactionSource<never>
  /** The first process of a server on this machine. */
  readonly pid?: number
}

export interface Drained {
  readonly perSecond: number
  /** Processor time, in microseconds of a task. */
  readonly processUs: number
  /** The same of the server's processes, unless the database is in this process. */
  readonly serverUs: number | undefined
}

/** A node has ended when nothing was completed for so long. */
const silenceMs = 3_000

/** Ticks of the processor in a second, as the kernel counts them. */
const ticksPerSecond = 100

export async function pushAll(
  { tasks, transactions }: Subject,
  topic: string,
  count: number,
  identifierOf: (index: number) => string,
): Promise<void> {
  for (let from = 0; from < count; from += 5_000) {
    const identifiers = Array.from({ length: Math.min(5_000, count - from) }, (_, index) => identifierOf(from + index))
    await transactions((transaction) => tasks.push(transaction, topic, identifiers))
  }
}

export async function initialize({ tasks, transactions }: Subject, topic: string, options: TopicOptions): Promise<void> {
  await transactions((transaction) => tasks.initialize(transaction, topic, options))
}

/** Drains `count` tasks by a node. @throws Error if tasks are left, for which nothing comes any more */
export async function drain(subject: Subject, topic: string, count: number, size = 1_000): Promise<Drained> {
  const { tasks, transactions, pid } = subject
  const done = Promise.withResolvers<void>()
  let completed = 0
  let watch = setTimeout(() => done.reject(new Error(`${topic}: nothing was completed`)), silenceMs * 10)
  const node = new TaskNode({
    repository: tasks,
    transactions,
    listener: {
      onComplete: ({ completion }) => {
        completed += completion.completed.length
        clearTimeout(watch)
        if (completed >= count) done.resolve()
        else
          watch = setTimeout(() => done.reject(new Error(`${topic}: ${completed} of ${count} tasks were completed`)), silenceMs)
      },
    },
  })
  node.process(topic, { size, handler: eachTask(() => {}) })
  const server = pid === undefined ? undefined : serverMs(pid)
  const own = process.cpuUsage()
  const start = performance.now()
  await node.start()
  await done.promise
  const ms = performance.now() - start
  const { user, system } = process.cpuUsage(own)
  const spent = server === undefined ? undefined : serverMs(pid!) - server
  await node.stop()
  return {
    perSecond: (count / ms) * 1_000,
    processUs: (user + system) / count,
    serverUs: spent === undefined ? undefined : (spent * 1_000) / count,
  }
}

/** Milliseconds of the processor that a process and its children have used, also those children that have ended. */
function serverMs(pid: number): number {
  let ticks = 0
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const fields = statOf(name)
    if (!fields) continue
    const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map(Number) as [number, number, number, number]
    if (Number(name) === pid) ticks += user + system + endedUser + endedSystem
    else if (Number(fields[1]) === pid) ticks += user + system
  }
  return (ticks * 1_000) / ticksPerSecond
}

/** What the kernel tells of a process, from its state on. */
function statOf(pid: string): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    // The process has ended meanwhile.
    return undefined
  }
}
