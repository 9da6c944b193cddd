import { checkInteger, checkNames, optionNames } from '@taskstream/task-api'
import type { Completion, Execution, HeldTask, TaskRepository, TransactionSource } from '@taskstream/task-api'
import { systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import { Dispatcher } from '../core/dispatcher.ts'
import { LeasedBatch } from './leased-batch.ts'
import { safeListener } from '../core/listener.ts'
import type { RetryPolicy } from '../core/retry-policy.ts'
import { SharedCompletions } from './shared-completions.ts'
import { openHandler } from '../core/task-handler.ts'
import type { Decisions, TaskHandler } from '../core/task-handler.ts'

export interface HandleBatchOptions<Transaction> {
  readonly repository: TaskRepository<Transaction, Execution>
  readonly transactions: TransactionSource<Transaction>
  readonly topic: string
  readonly handler: TaskHandler<Transaction>
  /** What becomes of a task whose handler throws. Default: it fails. */
  readonly retry?: RetryPolicy
  /** How long the handler may take, in milliseconds, before its signal is aborted. Default: for ever. */
  readonly timeoutMs?: number
  /** How long the database may take for a step of what is not the handler's own, in milliseconds, 100 to one day. Default 30 000. */
  readonly statementTimeoutMs?: number
  /** What time is for the handler. Default: the process's own. */
  readonly clock?: Clock
}

const names = optionNames<HandleBatchOptions<never>>('handleBatch', {
  repository: true,
  transactions: true,
  topic: true,
  handler: true,
  retry: true,
  timeoutMs: true,
  statementTimeoutMs: true,
  clock: true,
})

/** What became of a batch. */
export interface BatchOutcome {
  /** What was decided, of the lost tasks too where the handler did not ask for what is held. */
  readonly decisions: Decisions
  readonly completion: Completion
}

/**
 * Handles tasks that the caller has polled and completes them, exactly as a node would: for a loop of one's own, and for tests.
 *
 * @throws what a node would only report: the completion failed, or the handler went on to fail after it had completed the batch
 * @example
 * const batch = await transactions((transaction) => repository.poll(transaction, 'invoices', { size: 100 }))
 * const { completion } = await handleBatch(batch, { repository, transactions, topic: 'invoices', handler })
 */
export async function handleBatch<Transaction>(
  tasks: readonly HeldTask[],
  options: HandleBatchOptions<Transaction>,
): Promise<BatchOutcome> {
  checkNames(names, options)
  const { repository, transactions, topic, handler, retry, timeoutMs, statementTimeoutMs = 30_000, clock = systemClock } = options
  checkInteger('statementTimeoutMs', statementTimeoutMs, 100, 86_400_000)
  let outcome: BatchOutcome = { decisions: new Map(), completion: { completed: [], lost: [] } }
  if (tasks.length === 0) return outcome
  /** What went wrong, by the tasks that it has to do with. What comes after the completion is the handler's own affair, and stays. */
  const failures = new Map<HeldTask, unknown>()
  const listener = safeListener({
    onComplete: (completed) => {
      outcome = both(outcome, completed)
      // What the handler threw, or the database, has become the decision.
      for (const task of completed.tasks) failures.delete(task)
    },
    onError: ({ error, tasks: some = tasks }) => {
      for (const task of some) failures.set(task, error)
    },
  })
  const open = openHandler(handler, topic)
  const dispatcher = new Dispatcher({ repository, transactions, statementTimeoutMs })
  const environment = {
    topic,
    repository,
    retry,
    listener,
    clock,
    timeoutMs,
    dispatcher,
    // mutants: equivalent `{ dispatcher, repository, topic }`, one batch has no company
    completions: new SharedCompletions({ dispatcher, repository, topic }),
    handler: open.handle,
    abortMs: 2e3,
    wake: () => {},
  }
  try {
    await new LeasedBatch(environment, tasks, false).begin()
    await open.close?.()
  } finally {
    dispatcher.rest()
  }
  for (const error of failures.values()) throw error
  return outcome
}

function both(before: BatchOutcome, { decisions, completion }: BatchOutcome): BatchOutcome {
  return {
    decisions: new Map([...before.decisions, ...decisions]),
    completion: {
      completed: [...before.completion.completed, ...completion.completed],
      lost: [...before.completion.lost, ...completion.lost],
    },
  }
}
