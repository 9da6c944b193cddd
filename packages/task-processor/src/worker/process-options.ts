import { checkDuration, checkInteger, checkNames, checkState, invalid, optionNames, taskLimits } from '@taskstream/task-api'
import type { FilterState, TaskError, TaskState, TopicOptions } from '@taskstream/task-api'
import type { RetryPolicy } from '../core/retry-policy.ts'
import type { TaskHandler } from '../core/task-handler.ts'

/** The states that tasks can be kept in for some time, and then purged from. */
export type RetainedState = Exclude<TaskState, 'active' | 'ready'>

/** With an order or a condition, the topic is initialised so; without, it is as it is. */
export interface ProcessOptions<Transaction> extends TopicOptions {
  readonly handler: TaskHandler<Transaction>
  /** Tasks of a batch, 1 to 10 000. Default 100. Small batches are polled, and completed, several at a time. */
  readonly size?: number
  /**
   * Batches held at a time, 1 to 10 000. Default: what the handler takes at a time, if it says so, and otherwise 2: one is polled while
   * another is handled. With 1, batches follow each other strictly.
   */
  readonly concurrency?: number
  /**
   * `'leased'` (default): tasks are polled, handled and completed in transactions of their own, and held by the owner's lease meanwhile.
   * `'transactional'`: all in one transaction, for handlers that take milliseconds. A crash leaves nothing to be recovered, and effects
   * in the same database happen once without a word from the handler; but the transaction stays open as long as the handler works, which
   * holds back what a database does to clean up. A batch whose transaction was rolled back, and the first after a start, are leased, so
   * that tries are counted.
   */
  readonly mode?: 'leased' | 'transactional'
  /**
   * Whether the topic is processed while nothing was said of it by `activate` or `deactivate`: `'active'` (default) or `'inactive'`.
   * `'ignored'`: it is, whatever was said.
   */
  readonly activation?: 'active' | 'inactive' | 'ignored'
  /** What becomes of a task whose handler throws, or of which the database will not write what was decided. Default: it fails. */
  readonly retry?: RetryPolicy
  /**
   * How long the handler may take for a batch, in milliseconds, 1 to one day. Then its signal is aborted with TASK_TIMEOUT; tasks that it
   * has not decided of when it lets go are handed back. Default: for ever; in transactional mode 10 000, or a third of the lease if that is
   * less, and with `abortMs` no more than the lease.
   */
  readonly timeoutMs?: number
  /**
   * How long a handler may take to let go once it was asked to, in milliseconds, 0 to one day. After that its tasks are failed, or
   * retried by the policy, without it, and what it decides later is refused. Default 2 000.
   */
  readonly abortMs?: number
  /**
   * The longest pause between polls of an empty topic, in milliseconds, 1 to one day. Default 30 000 while the node has a notifier, which
   * wakes it earlier, and 1 000 without one, or when it has given up.
   */
  readonly idleMs?: number
  /**
   * How long tasks are kept once they have ended, by state, in milliseconds: maintenance purges what is older. What waits for its due time or
   * for a retry has not ended, and is never purged: `suspended` are those set aside for somebody. Default: for ever.
   * @example { succeeded: 86_400_000, recreated: 0, redundant: 0 }
   */
  readonly retainMs?: Readonly<Partial<Record<RetainedState, number>>>
}

/** What is still to be done cannot be kept for so long only: it would be lost. */
const unended: readonly FilterState[] = ['active', 'ready', 'delayed']

const transactionalTimeoutMs = 10_000

/** What is processed how: the options, checked, with their defaults. */
export interface Processing<Transaction> {
  readonly handler: TaskHandler<Transaction>
  readonly size: number
  /** Undefined: the handler says. */
  readonly concurrency: number | undefined
  readonly mode: 'leased' | 'transactional'
  readonly activation: 'active' | 'inactive' | 'ignored'
  readonly retry: RetryPolicy | undefined
  readonly timeoutMs: number | undefined
  readonly abortMs: number
  readonly idleMs: number | undefined
  readonly retainMs: NonNullable<ProcessOptions<Transaction>['retainMs']>
  /** What the topic is initialised with, if anything was said. */
  readonly topicOptions: TopicOptions | undefined
}

const names = optionNames<ProcessOptions<never>>('process', {
  handler: true,
  size: true,
  concurrency: true,
  mode: true,
  activation: true,
  retry: true,
  timeoutMs: true,
  abortMs: true,
  idleMs: true,
  retainMs: true,
  order: true,
  condition: true,
  keyed: true,
})

/** @throws TaskError ARGUMENT_INVALID */
export function checkProcessOptions<Transaction>(options: ProcessOptions<Transaction>, leaseMs: number): Processing<Transaction> {
  checkNames(names, options)
  const { handler, size = 100, concurrency, mode = 'leased', activation = 'active' } = options
  const { retry, idleMs, retainMs = {}, abortMs = 2_000 } = options
  if (typeof handler !== 'function' && typeof handler?.open !== 'function')
    throw invalid('handler', handler, 'must be a function of a batch, or something that opens one')
  if (mode !== 'leased' && mode !== 'transactional') throw invalid('mode', mode, "must be 'leased' or 'transactional'")
  if (!['active', 'inactive', 'ignored'].includes(activation))
    throw invalid('activation', activation, "must be 'active', 'inactive' or 'ignored'")
  if (retry !== undefined && typeof retry !== 'function')
    throw invalid('retry', retry, 'must be a policy, such as exponential({ … })')
  const timeoutMs =
    options.timeoutMs ?? (mode === 'transactional' ? Math.min(transactionalTimeoutMs, Math.floor(leaseMs / 3)) : undefined)
  checkInteger('size', size, 1, taskLimits.pollSize)
  if (concurrency !== undefined) checkInteger('concurrency', concurrency, 1, 10_000)
  if (idleMs !== undefined) checkInteger('idleMs', idleMs, 1, 86_400_000)
  if (options.timeoutMs !== undefined) checkInteger('timeoutMs', options.timeoutMs, 1, 86_400_000)
  checkInteger('abortMs', abortMs, 0, 86_400_000)
  // On one connection the heartbeat has to wait for the transaction.
  if (mode === 'transactional' && timeoutMs! + abortMs > leaseMs) throw longerThanLease(options, timeoutMs!, abortMs, leaseMs)
  for (const [state, ms] of Object.entries(retainMs)) {
    checkState('retainMs', state)
    if (unended.includes(state)) throw invalid('retainMs', state, `must be of states that have ended, not ${unended.join(', ')}`)
    checkDuration(`retainMs.${state}`, ms)
  }
  const topicOptions = said(options)
  return { handler, size, concurrency, mode, activation, retry, timeoutMs, abortMs, idleMs, retainMs, topicOptions }
}

/** Names what the user has given: defaults are nobody's mistake. */
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
