/** Runs a stream for a while: until nothing is left to do, or the time is up. */
import { setTimeout as delay } from 'node:timers/promises'
import { checkInteger, isPassing } from '@taskstream/task-api'
import type { Activation, Execution, PeekedTopic, PromotedDue, TransactionSource } from '@taskstream/task-api'
import { checkStopOptions } from '@taskstream/task-processor'
import type { StopOptions, TaskNode } from '@taskstream/task-processor'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import type { JobTimers } from './job-timers.ts'

/** What a run looks at. */
export interface Running<Transaction, E extends Execution> {
  readonly node: Pick<TaskNode<Transaction>, 'isIdle' | 'wake'>
  readonly tasks: Pick<SqlTaskRepository<Transaction, E>, 'promoteDue' | 'peek' | 'activations'>
  readonly transactions: TransactionSource<Transaction>
  readonly timers: Pick<JobTimers<Transaction, E>, 'dueMs'>
  /** The topics that are handled. */
  readonly topics: ReadonlySet<string>
}

/** What is left when nothing is being handled and polls have found nothing. */
interface Rest {
  /** In how many milliseconds the next job is due; 0 if there is something to do already. Infinite if nothing waits for its time. */
  readonly dueMs: number
  /** Whether jobs wait for others. A loop looks at those once a second. */
  readonly isBlocked: boolean
  /** The topics with ready jobs that no poll takes: others have locked them, or a limit is reached. */
  readonly ready: readonly string[]
}

const lookEveryMs = 50
/** For how long nothing must have been found where jobs wait for others: by then a loop has looked at them. */
const settledMs = 1_500

/** @returns the options of the stop, with their defaults @throws TaskError ARGUMENT_INVALID */
export function checkRun(budgetMs: number, options: StopOptions): Required<StopOptions> {
  checkInteger('budgetMs', budgetMs, 1, 86_400_000)
  return checkStopOptions(options)
}

/** Whether something comes through in time. What is late goes on, and nobody asks what becomes of it. */
export async function isInTime(ms: number, under: Promise<unknown>): Promise<boolean> {
  return (
    (await within(
      ms,
      under.then(() => true),
    )) ?? false
  )
}

/** @returns whether nothing was left that can be done within the time */
export async function isDoneWithin<Transaction, E extends Execution>(
  running: Running<Transaction, E>,
  budgetMs: number,
): Promise<boolean> {
  const { node } = running
  const endMs = performance.now() + budgetMs
  let idleSinceMs: number | undefined
  let vainSinceMs: number | undefined
  let busyLooks = 0
  for (;;) {
    const leftMs = endMs - performance.now()
    if (leftMs <= 0) return false
    const rest = node.isIdle ? await within(leftMs, restOf(running)) : undefined
    const nowMs = performance.now()
    // What has come meanwhile, or was promoted, has woken its topic.
    if (!rest || rest.dueMs < leftMs || !node.isIdle) {
      idleSinceMs = undefined
      // A poll that was asked for here is over by the second look.
      if (++busyLooks > 1) vainSinceMs = undefined
    } else {
      busyLooks = 0
      idleSinceMs ??= nowMs
      const isSettled = nowMs - idleSinceMs >= settledMs
      if (rest.ready.length === 0 && (!rest.isBlocked || isSettled)) return true
      if (rest.ready.length > 0 && nowMs - (vainSinceMs ??= nowMs) >= settledMs) return false
      for (const topic of rest.ready) node.wake(topic)
    }
    await delay(Math.min(lookEveryMs, leftMs))
  }
}

/** The answer of a database that may be silent: the run ends in time all the same, and its stop is bounded too. */
function within<Answer>(ms: number, answer: Promise<Answer>): Promise<Answer | undefined> {
  // After its time nobody asks what it has become.
  answer.catch(() => {})
  return Promise.race([answer, delay(ms, undefined, { ref: false })])
}

/** Undefined if the database is away for a moment, which says nothing of what is left. */
async function restOf<Transaction, E extends Execution>({
  node,
  tasks,
  transactions,
  timers,
  topics,
}: Running<Transaction, E>): Promise<Rest | undefined> {
  try {
    const woken: string[] = []
    const rest = await transactions<Rest>(async (transaction): Promise<Rest> => {
      let dueMs = await timers.dueMs(transaction)
      let isBlocked = false
      woken.length = 0
      for (const topic of topics) {
        const { promoted, nextDueMs = Infinity, lookAgainMs } = (await tasks.promoteDue(transaction, topic)) as PromotedDue
        dueMs = Math.min(dueMs, nextDueMs)
        isBlocked ||= lookAgainMs !== undefined
        if (promoted > 0) woken.push(topic)
      }
      return { dueMs, isBlocked, ready: await readyIn(tasks, transaction, topics) }
    })
    for (const topic of woken) node.wake(topic)
    return rest
  } catch (error) {
    if (isPassing(error)) return undefined
    throw error
  }
}

/** Those of the topics that have ready jobs. What somebody has paused is not to be done. */
async function readyIn<Transaction, E extends Execution>(
  tasks: Running<Transaction, E>['tasks'],
  transaction: Transaction,
  topics: ReadonlySet<string>,
): Promise<readonly string[]> {
  const seen = (await tasks.peek(transaction, [...topics])) as ReadonlyMap<string, PeekedTopic>
  const ready = [...topics].filter((topic) => seen.get(topic)?.ready === true)
  if (ready.length === 0) return ready
  const activations = (await tasks.activations(transaction)) as ReadonlyMap<string, Activation>
  return ready.filter((topic) => activations.get(topic)?.active !== false)
}
