import { checkInteger, checkNames, optionNames } from '@taskstream/task-api'
import type { Completion, Execution, HeldTask, TaskRepository, TransactionSource } from '@taskstream/task-api'
import { systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import { Dispatcher } from '../core/dispatcher.ts'
import { HungHandlers } from '../core/hung-handlers.ts'
import { LeasedBatch } from './leased-batch.ts'
import { safeListener } from '../core/listener.ts'
import type { RetryPolicy } from '../core/retry-policy.ts'
import { SharedCommits } from './shared-commits.ts'
import { SharedCompletions } from './shared-completions.ts'
import { openHandler } from '../core/task-handler.ts'
import type { Decisions, TaskHandler } from '../core/task-handler.ts'

export interface HandleBatchOptions<Transaction> {
  readonly repository: TaskRepository<Transaction, Execution>
  readonly transactions: TransactionSource<Transaction>
  readonly topic: string
  readonly handler: TaskHandler<Transaction>
  /** Decides whether a task whose handler throws is tried again. Default: the task fails. */
  readonly retry?: RetryPolicy
  /** How long the handler may take, in milliseconds, before its signal is aborted. Default: no limit. */
  readonly timeoutMs?: number
  /** How long the database may take for each step outside the handler's code, in milliseconds, 100 to one day. Default 30 000. */
  readonly statementTimeoutMs?: number
  /** The clock for time limits and pauses. Default: the clock of the process. */
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

/** The outcome of a batch. */
export interface BatchOutcome {
  /** The decisions. They include lost tasks, unless the handler completed by a function, which gets the held tasks only. */
  readonly decisions: Decisions
  readonly completion: Completion
}

/**
 * Handles tasks that the caller has polled, and completes them as a node would. Use it in a loop of your own, or in tests.
 *
 * @throws errors that a node would only report: the completion failed, or the handler threw after it had completed the batch. TaskError
 * ARGUMENT_INVALID if an option is out of range
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
  if (timeoutMs !== undefined) checkInteger('timeoutMs', timeoutMs, 1, 86_400_000)
  let outcome: BatchOutcome = { decisions: new Map(), completion: { completed: [], lost: [] } }
  if (tasks.length === 0) return outcome
  /** Errors by their tasks. A completion removes the earlier errors of its tasks; errors after it stay. */
  const failures = new Map<HeldTask, unknown>()
  const listener = safeListener({
    onComplete: (completed) => {
      outcome = both(outcome, completed)
      // Earlier errors of the handler or the database have become the decisions.
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
    // mutants: equivalent `{ dispatcher, repository, topic }`, a single batch shares no completion
    completions: new SharedCompletions({ dispatcher, repository, topic }),
    // mutants: equivalent property `{ dispatcher, repository, topic`, a single batch shares no commit
    // mutants: equivalent number:0, a single batch is alone either way
    commits: new SharedCommits({ dispatcher, repository, topic, clock }, 1),
    handler: open.handle,
    hung: new HungHandlers(
      () => Infinity,
      () => {},
    ),
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
