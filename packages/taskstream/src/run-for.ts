/** Runs a stream for a while: until nothing is left to do, or the time is up. */
import { setTimeout as delay } from 'node:timers/promises'
import { checkInteger, isPassing } from '@taskstream/task-api'
import type { Execution, PromotedDue, TransactionSource } from '@taskstream/task-api'
import { checkStopOptions } from '@taskstream/task-processor'
import type { StopOptions, TaskNode } from '@taskstream/task-processor'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import type { JobTimers } from './job-timers.ts'

/** What a run looks at. */
export interface Running<Transaction, E extends Execution> {
  readonly node: Pick<TaskNode<Transaction>, 'isIdle' | 'wake'>
  readonly tasks: Pick<SqlTaskRepository<Transaction, E>, 'promoteDue'>
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
}

const lookEveryMs = 50
/** For how long nothing must have been found where jobs wait for others: by then a loop has looked at them. */
const settledMs = 1_500

/** @throws TaskError ARGUMENT_INVALID */
export function checkRun(budgetMs: number, options: StopOptions): void {
  checkInteger('budgetMs', budgetMs, 1, 86_400_000)
  checkStopOptions(options)
}

/** @returns whether nothing was left that can be done within the time */
export async function isDoneWithin<Transaction, E extends Execution>(
  running: Running<Transaction, E>,
  budgetMs: number,
): Promise<boolean> {
  const endMs = performance.now() + budgetMs
  let idleSinceMs: number | undefined
  for (;;) {
    const leftMs = endMs - performance.now()
    if (leftMs <= 0) return false
    const rest = running.node.isIdle ? await within(leftMs, restOf(running)) : undefined
    // What has come meanwhile, or was promoted, has woken its topic.
    if (!rest || rest.dueMs < leftMs || !running.node.isIdle) idleSinceMs = undefined
    else {
      idleSinceMs ??= performance.now()
      if (!rest.isBlocked || performance.now() - idleSinceMs >= settledMs) return true
    }
    await delay(Math.min(lookEveryMs, leftMs))
  }
}

/** The answer of a database that may be silent: the run ends in time all the same, and its stop is bounded too. */
function within(ms: number, rest: Promise<Rest | undefined>): Promise<Rest | undefined> {
  // After its time nobody asks what it has become.
  rest.catch(() => {})
  return Promise.race([rest, delay(ms, undefined, { ref: false })])
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
      return { dueMs, isBlocked }
    })
    for (const topic of woken) node.wake(topic)
    return rest
  } catch (error) {
    if (isPassing(error)) return undefined
    throw error
  }
}
