import {
  checkDuration,
  checkGiven,
  checkInteger,
  checkShares,
  checkState,
  invalid,
  optionNames,
  taskLimits,
} from '@taskstream/task-api'
import type { FilterState, PollShares, TaskError, TaskState, TopicLimits, TopicOptions } from '@taskstream/task-api'
import type { RetryPolicy } from '../core/retry-policy.ts'
import type { TaskHandler } from '../core/task-handler.ts'

/** The states in which tasks can be kept for some time and then purged. */
export type RetainedState = Exclude<TaskState, 'active' | 'ready'>

/** How a topic is processed. If an order or a condition is given, the topic is initialized with it; otherwise the topic stays as it is. */
export interface ProcessOptions<Transaction> extends TopicOptions {
  readonly handler: TaskHandler<Transaction>
  /** The most tasks of a batch, 1 to 10 000. Default 100. Several small batches are polled, or completed, together. */
  readonly size?: number
  /**
   * The most batches that the topic holds at a time, 1 to 10 000. With 1, a batch is polled only after the last has ended. Default: the handler's capacity
   * if it has one. Otherwise two batches are handled at a time, and of a fifo topic without limits more are held ahead: as many tasks as were handled in
   * the last 100 ms, 1 000 at most, and as many again that wait for their completion. What waits for its handler for a second is handed back.
   */
  readonly concurrency?: number
  /**
   * `'leased'` (default): poll and completion are separate transactions, and the owner's lease holds the tasks in between.
   * `'transactional'`: one transaction polls, handles and completes, for handlers that take milliseconds. A crash leaves nothing to recover. Writes in
   * the function of `context.complete` are part of it. The transaction stays open while the handler works, which delays the database's cleanup.
   * The first batch after a start, and a batch after a rollback, are leased, so that tries are counted.
   */
  readonly mode?: 'leased' | 'transactional'
  /**
   * Whether the topic is processed before `activate` or `deactivate` was ever called: `'active'` (default) or `'inactive'`. With `'ignored'` the topic is
   * always processed.
   */
  readonly activation?: 'active' | 'inactive' | 'ignored'
  /**
   * How many batches may complete by a function in one transaction, 1 to 1000. Default 1: each has its own. With more, small batches that complete at the
   * same time share a transaction. Then a function may see what others of the transaction have written, and if one of them throws, each runs again in a
   * transaction of its own. Not in transactional mode.
   */
  readonly share?: number
  /** How many high and low tasks come in turn, in the order `shared`. Default: four high ones, then a low one. */
  readonly shares?: PollShares
  /** Decides whether a task is tried again after its handler threw, or after the database refused its decision. Default: the task fails. */
  readonly retry?: RetryPolicy
  /**
   * How long the handler may take for a batch, in milliseconds, 1 to one day. Then its signal is aborted with TASK_TIMEOUT, and tasks that the handler
   * leaves undecided are handed back. Default: no limit. In transactional mode the default is 10 000, or a third of the lease if that is less, and
   * `timeoutMs` and `abortMs` together must not exceed the lease.
   */
  readonly timeoutMs?: number
  /**
   * How long a handler may take to let go once its signal is aborted, in milliseconds, 0 to one day. Default 2 000. After that its tasks fail, or are
   * retried by the policy, and later decisions of the handler are refused.
   */
  readonly abortMs?: number
  /**
   * The longest pause between polls of an empty topic, in milliseconds, 1 to one day. Default 30 000 while the node has a working notifier, which wakes it
   * earlier, and otherwise 1 000. After pauses so long, a look at all such topics of the node takes the place of the polls.
   */
  readonly idleMs?: number
  /**
   * How long ended tasks are kept, by state, in milliseconds. Maintenance purges older ones. Default: tasks are never purged. `suspended` means tasks that
   * wait for somebody: delayed tasks and tasks that wait for a retry are never purged. With 0 a task that has succeeded, failed or been filtered is deleted in
   * the transaction that ends it, with its result and its attempts, unless others need it.
   * @example { succeeded: 86_400_000, recreated: 0, redundant: 0 }
   */
  readonly retainMs?: Readonly<Partial<Record<RetainedState, number>>>
  /**
   * Limits that all processes of the topic keep together. They are stored when the topic has none yet; what is stored wins, and `limit` of the repository
   * changes it. A topic that has stored limits keeps them, whether or not they are given here.
   */
  readonly limits?: TopicLimits
}

/** States of tasks that are still to be done, which must not be purged. */
const unended: readonly FilterState[] = ['active', 'ready', 'delayed', 'blocked']

const transactionalTimeoutMs = 10_000

/** The checked options of a topic, with defaults filled in. */
export interface Processing<Transaction> {
  readonly handler: TaskHandler<Transaction>
  readonly size: number
  /** Undefined if the handler's capacity decides. */
  readonly concurrency: number | undefined
  readonly mode: 'leased' | 'transactional'
  readonly share: number
  readonly activation: 'active' | 'inactive' | 'ignored'
  readonly retry: RetryPolicy | undefined
  readonly timeoutMs: number | undefined
  readonly abortMs: number
  readonly idleMs: number | undefined
  readonly retainMs: NonNullable<ProcessOptions<Transaction>['retainMs']>
  /** The options with which the topic is initialized, if any were given. */
  readonly topicOptions: TopicOptions | undefined
  /** The limits to be stored, if the topic has none. */
  readonly limits: TopicLimits | undefined
  readonly shares: PollShares | undefined
}

const names = optionNames<ProcessOptions<never>>('process', {
  handler: true,
  size: true,
  concurrency: true,
  mode: true,
  share: true,
  activation: true,
  retry: true,
  timeoutMs: true,
  abortMs: true,
  idleMs: true,
  retainMs: true,
  limits: true,
  shares: true,
  order: true,
  condition: true,
  keyed: true,
  record: true,
})

/** @throws TaskError ARGUMENT_INVALID */
export function checkProcessOptions<Transaction>(options: ProcessOptions<Transaction>, leaseMs: number): Processing<Transaction> {
  checkGiven(names, options)
  const { handler, size = 100, concurrency, mode = 'leased', share = 1, activation = 'active' } = options
  const { retry, idleMs, retainMs = {}, limits, shares, abortMs = 2_000 } = options
  if (typeof handler !== 'function' && typeof handler?.open !== 'function')
    throw invalid('handler', handler, 'must be a function of a batch, or something that opens one')
  if (mode !== 'leased' && mode !== 'transactional') throw invalid('mode', mode, "must be 'leased' or 'transactional'")
  if (mode === 'transactional' && options.record === 'outcomes')
    throw invalid(
      'mode',
      mode,
      'must be leased with the record outcomes, where ranges hold the tasks: handlers can still commit with a batch',
    )
  if (!['active', 'inactive', 'ignored'].includes(activation))
    throw invalid('activation', activation, "must be 'active', 'inactive' or 'ignored'")
  if (retry !== undefined && typeof retry !== 'function')
    throw invalid('retry', retry, 'must be a policy, such as exponential({ … })')
  const timeoutMs =
    options.timeoutMs ?? (mode === 'transactional' ? Math.min(transactionalTimeoutMs, Math.floor(leaseMs / 3)) : undefined)
  checkInteger('size', size, 1, taskLimits.pollSize)
  checkInteger('share', share, 1, 1_000)
  if (shares !== undefined) checkShares(shares)
  if (concurrency !== undefined) checkInteger('concurrency', concurrency, 1, 10_000)
  if (idleMs !== undefined) checkInteger('idleMs', idleMs, 1, 86_400_000)
  if (options.timeoutMs !== undefined) checkInteger('timeoutMs', options.timeoutMs, 1, 86_400_000)
  checkInteger('abortMs', abortMs, 0, 86_400_000)
  // On a single connection the heartbeat waits for the transaction.
  if (mode === 'transactional' && timeoutMs! + abortMs > leaseMs) throw longerThanLease(options, timeoutMs!, abortMs, leaseMs)
  if (typeof retainMs !== 'object' || retainMs === null)
    throw invalid('retainMs', retainMs, 'must be an object, such as { succeeded: 86_400_000 }')
  for (const [state, ms] of Object.entries(retainMs)) {
    checkState('retainMs', state)
    if (unended.includes(state)) throw invalid('retainMs', state, `must be of states that have ended, not ${unended.join(', ')}`)
    checkDuration(`retainMs.${state}`, ms)
  }
  const topicOptions = said(options)
  return {
    handler,
    size,
    concurrency,
    mode,
    share,
    activation,
    retry,
    timeoutMs,
    abortMs,
    idleMs,
    retainMs,
    topicOptions,
    limits,
    shares,
  }
}

/** Names the option that the user has given, as a default is not the user's mistake. */
function longerThanLease(
  given: Pick<ProcessOptions<never>, 'timeoutMs' | 'abortMs'>,
  timeoutMs: number,
  abortMs: number,
  leaseMs: number,
): TaskError {
  const rule = `must not be longer than the lease (${leaseMs}) in transactional mode`
  if (given.timeoutMs !== undefined) return invalid('timeoutMs', timeoutMs, `and abortMs (${abortMs}) ${rule}`)
  if (given.abortMs !== undefined) return invalid('abortMs', abortMs, `and timeoutMs (${timeoutMs}) ${rule}`)
  return invalid(
    'leaseMs',
    leaseMs,
    `must not be shorter than timeoutMs (${timeoutMs}) and abortMs (${abortMs}) in transactional mode`,
  )
}

function said({ order, condition, keyed }: TopicOptions): TopicOptions | undefined {
  if (order === undefined && condition === undefined && keyed === undefined) return undefined
  return { ...(order && { order }), ...(condition && { condition }), ...(keyed !== undefined && { keyed }) }
}
