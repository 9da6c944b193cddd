import { checkDuration, checkGiven, checkInteger, checkNames, invalid, optionNames } from '@taskstream/task-api'
import type { Execution, TaskNotifier, TaskRepository, TransactionSource } from '@taskstream/task-api'
import { systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import type { TaskLimiter } from '../polling/limiter.ts'
import type { TaskListener } from '../core/listener.ts'
import type { HeartbeatThread } from '../liveness/thread-heartbeat.ts'

export interface TaskNodeOptions<Transaction> {
  /** The repository. Handlers get the transactions that `transactions` opens, which may have more than the repository needs. */
  readonly repository: TaskRepository<NoInfer<Transaction>, Execution>
  /** How transactions are opened: `pgTransactions(pool)`, `sqliteTransactions(db)`, or your own. */
  readonly transactions: TransactionSource<Transaction>
  /** Notifies the node of new tasks, so that it need not poll often. */
  readonly notifier?: TaskNotifier
  /** The pause between two heartbeats in milliseconds, 10 to a day. Default 5 000. A short one notices a lost database sooner, and costs more writes. */
  readonly heartbeatIntervalMs?: number
  /**
   * How long a node may be silent before it counts as dead and its tasks are taken, in milliseconds: more than twice the heartbeat interval.
   * Default 30 000. A short lease recovers sooner; one that is too short takes tasks from a process that merely paused.
   */
  readonly leaseMs?: number
  /**
   * How often the node looks for tasks of dead owners, and for tasks that were taken from its own handlers, in milliseconds, 10 to a day. Default: half
   * the lease, at most a day. A look costs a statement, and one more for each topic whose handlers have worked since the look before. Tasks of a dead
   * owner wait for the next one.
   */
  readonly maintenanceIntervalMs?: number
  /**
   * How long the database may take for a statement of the node, or to begin or end a transaction, in milliseconds, 100 to one day. Default 30 000.
   * After that the node gives up the transaction with its connection, and tries again. Statements of handlers have no such limit.
   */
  readonly statementTimeoutMs?: number
  /**
   * Sends heartbeats from a separate thread, so that a handler that computes for longer than the lease keeps its tasks. This costs a thread and a
   * connection, and a hanging event loop is noticed later. Default: heartbeats come from the event loop.
   */
  readonly heartbeatThread?: HeartbeatThread
  /**
   * How often maintenance refreshes the statistics of the database's planner (`refresh`), in milliseconds, a minute to a week. Default: never.
   * PostgreSQL refreshes them by itself; SQLite does not, so set this for a large file.
   */
  readonly refreshIntervalMs?: number
  /**
   * The state that tasks of dead owners get: `'ready'` (default) while they have tries left, or `'expired'`, in which they wait for a person. Give all
   * nodes of a database the same value, as any node may expire the tasks.
   */
  readonly expireTo?: 'ready' | 'expired'
  /**
   * For how long attempts that did not succeed are kept, in milliseconds, 0 to 100 years. Default: 14 days. Those at a task that is still failed,
   * expired, suspended or delayed are kept for as long as it is. Give all nodes of a database the same value.
   */
  readonly keepAttemptsMs?: number
  /**
   * For how long it is kept what people have done to tasks, topics and timers, in milliseconds, 0 to 100 years. Default: 90 days. After that an action
   * cannot be undone. Give all nodes of a database the same value.
   */
  readonly keepAuditMs?: number
  /** Whether former nodes of the same owner name count as dead once this node starts. Default false: they do when their lease has run out. */
  readonly exclusive?: boolean
  /** Limits the batches of all topics together: `bound(n)`, `prioritizing(n, …)`, or your own. Default: only each topic's concurrency limits. */
  readonly limiter?: TaskLimiter
  /**
   * For how long the event loop must stand still before `onBlocked` is called, in milliseconds, 10 to one day. Default 1 000, which is well before a
   * heartbeat is late.
   */
  readonly blockedMs?: number
  /** Gets the events of the node. Of several, each gets every event, and the first answer to `onStart` is the trace. */
  readonly listener?: TaskListener | readonly TaskListener[]
  /** The clock for pauses, the lease and timeouts. Tests may give their own. Default: the clock of the process. */
  readonly clock?: Clock
}

/** The checked settings of a node, with defaults filled in. */
export interface NodeSettings {
  readonly heartbeatIntervalMs: number
  readonly leaseMs: number
  readonly maintenanceIntervalMs: number
  readonly blockedMs: number
  readonly refreshIntervalMs: number | undefined
  readonly statementTimeoutMs: number
  readonly expireTo: 'ready' | 'expired'
  readonly keepAttemptsMs: number
  readonly keepAuditMs: number
  readonly clock: Clock
}

const names = optionNames<TaskNodeOptions<never>>('a node', {
  repository: true,
  transactions: true,
  notifier: true,
  heartbeatIntervalMs: true,
  leaseMs: true,
  maintenanceIntervalMs: true,
  heartbeatThread: true,
  refreshIntervalMs: true,
  statementTimeoutMs: true,
  expireTo: true,
  keepAttemptsMs: true,
  keepAuditMs: true,
  exclusive: true,
  limiter: true,
  blockedMs: true,
  listener: true,
  clock: true,
})
const threadNames = optionNames<HeartbeatThread>('a heartbeat thread', { module: true, hungMs: true, worker: true })

/** @throws TaskError ARGUMENT_INVALID */
export function checkNodeOptions<Transaction>(options: TaskNodeOptions<Transaction>): NodeSettings {
  checkGiven(names, options)
  checkNames(threadNames, options.heartbeatThread, 'heartbeatThread.')
  const {
    heartbeatIntervalMs = 5_000,
    leaseMs = 30_000,
    blockedMs = 1_000,
    refreshIntervalMs,
    statementTimeoutMs = 30_000,
    expireTo = 'ready',
    keepAttemptsMs = 14 * 86_400_000,
    keepAuditMs = 90 * 86_400_000,
    clock = systemClock,
  } = options
  checkInteger('heartbeatIntervalMs', heartbeatIntervalMs, 10, 86_400_000)
  checkInteger('leaseMs', leaseMs, 1, 7 * 86_400_000)
  const { maintenanceIntervalMs = Math.min(Math.ceil(leaseMs / 2), 86_400_000) } = options
  checkInteger('maintenanceIntervalMs', maintenanceIntervalMs, 10, 86_400_000)
  checkInteger('blockedMs', blockedMs, 10, 86_400_000)
  checkInteger('statementTimeoutMs', statementTimeoutMs, 100, 86_400_000)
  if (expireTo !== 'ready' && expireTo !== 'expired') throw invalid('expireTo', expireTo, "must be 'ready' or 'expired'")
  checkDuration('keepAttemptsMs', keepAttemptsMs)
  checkDuration('keepAuditMs', keepAuditMs)
  if (refreshIntervalMs !== undefined) checkInteger('refreshIntervalMs', refreshIntervalMs, 60_000, 7 * 86_400_000)
  if (leaseMs <= 2 * heartbeatIntervalMs)
    throw invalid('leaseMs', leaseMs, `must be more than twice heartbeatIntervalMs, which is ${heartbeatIntervalMs}`)
  return {
    heartbeatIntervalMs,
    leaseMs,
    maintenanceIntervalMs,
    blockedMs,
    refreshIntervalMs,
    statementTimeoutMs,
    expireTo,
    keepAttemptsMs,
    keepAuditMs,
    clock,
  }
}

/** Refuses parts of a node that cannot be what they should be, before a start stumbles over them. @throws TaskError ARGUMENT_INVALID */
export function checkParts<Transaction>({
  repository,
  transactions,
  limiter,
  notifier,
  clock,
}: TaskNodeOptions<Transaction>): void {
  if (typeof repository !== 'object' || repository === null)
    throw invalid('repository', repository, 'must be a repository, such as sqlTaskRepository makes')
  if (typeof transactions !== 'function')
    throw invalid('transactions', transactions, 'must be a function that runs transactions, such as pgTransactions(pool)')
  if (limiter !== undefined && typeof limiter?.acquire !== 'function')
    throw invalid('limiter', limiter, 'must be a limiter, such as bound(10)')
  if (notifier !== undefined && typeof notifier?.listen !== 'function') throw invalid('notifier', notifier, 'must be a notifier')
  if (clock !== undefined && (typeof clock?.monotonicMs !== 'function' || typeof clock.after !== 'function'))
    throw invalid('clock', clock, 'must be a clock, with monotonicMs and after')
}
