import { checkInteger, checkNames, invalid, optionNames } from '@taskstream/task-api'
import type { Execution, TaskNotifier, TaskRepository, TransactionSource } from '@taskstream/task-api'
import { systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import type { TaskLimiter } from '../polling/limiter.ts'
import type { TaskListener } from '../core/listener.ts'
import type { HeartbeatThread } from '../liveness/thread-heartbeat.ts'

export interface TaskNodeOptions<Transaction> {
  /** It may ask less of a transaction than yours has: handlers are given what `transactions` open. */
  readonly repository: TaskRepository<NoInfer<Transaction>, Execution>
  /** How transactions are opened: `pgTransactions(pool)`, `sqliteTransactions(db)`, or your own. */
  readonly transactions: TransactionSource<Transaction>
  /** Hears of new tasks, so that the node need not poll for them often. */
  readonly notifier?: TaskNotifier
  /** Milliseconds, 10 to a day. Default 5 000. More often finds a lost database sooner, and costs a write each time. */
  readonly heartbeatIntervalMs?: number
  /**
   * A node that has been silent for so long is dead, and its tasks are taken from it; milliseconds, more than twice the interval.
   * Default 30 000. Shorter recovers sooner; too short takes tasks from a process that merely paused.
   */
  readonly leaseMs?: number
  /**
   * How often the tasks of dead owners are looked for, in milliseconds. Default: half the lease. Seldom leaves them lying for longer; often
   * costs a statement each time.
   */
  readonly maintenanceIntervalMs?: number
  /**
   * How long the database may take to answer a statement of the node's own, or to begin or end a transaction of it, in milliseconds, 100 to one
   * day. Default 30 000. What takes longer is given up with its connection, and tried again; a handler's own statements take as long as they take.
   */
  readonly statementTimeoutMs?: number
  /**
   * Beats from a thread of its own, so that a handler which computes for longer than the lease keeps its tasks; a thread and a connection
   * more, and an event loop that hangs is noticed later. Default: from the event loop.
   */
  readonly heartbeatThread?: HeartbeatThread
  /**
   * How often maintenance renews what the database's planner knows of the tables (`refresh`), in milliseconds, a minute to a week. Default:
   * never, as PostgreSQL does by itself. Worth it for a large SQLite file, which does not.
   */
  readonly refreshIntervalMs?: number
  /**
   * What becomes of the tasks of dead owners: `'ready'` (default), as long as they have tries left, or `'expired'`, and left for somebody to look
   * at. Any node may be the one that finds them: give all nodes of a database the same.
   */
  readonly expireTo?: 'ready' | 'expired'
  /** Former nodes of the same owner name are dead from the start of this one. Default false: they are when their lease has run out. */
  readonly exclusive?: boolean
  /** Shared by all topics of the node: `bound(n)`, `prioritizing(n, …)`, or your own. Default: no limit but each topic's concurrency. */
  readonly limiter?: TaskLimiter
  /**
   * The listener is told when the event loop has stood still for so long, in milliseconds, 10 to one day. Default 1 000: well before a
   * heartbeat is late.
   */
  readonly blockedMs?: number
  readonly listener?: TaskListener
  /** For tests: what time is, for every pause, lease and timeout. Default: the process's own. */
  readonly clock?: Clock
}

/** The numbers of a node, checked, with their defaults. */
export interface NodeSettings {
  readonly heartbeatIntervalMs: number
  readonly leaseMs: number
  readonly maintenanceIntervalMs: number
  readonly blockedMs: number
  readonly refreshIntervalMs: number | undefined
  readonly statementTimeoutMs: number
  readonly expireTo: 'ready' | 'expired'
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
  exclusive: true,
  limiter: true,
  blockedMs: true,
  listener: true,
  clock: true,
})
const threadNames = optionNames<HeartbeatThread>('a heartbeat thread', { module: true, hungMs: true, worker: true })

/** @throws TaskError ARGUMENT_INVALID */
export function checkNodeOptions<Transaction>(options: TaskNodeOptions<Transaction>): NodeSettings {
  checkNames(names, options)
  checkNames(threadNames, options.heartbeatThread, 'heartbeatThread.')
  const {
    heartbeatIntervalMs = 5_000,
    leaseMs = 30_000,
    maintenanceIntervalMs = Math.ceil(leaseMs / 2),
    blockedMs = 1_000,
    refreshIntervalMs,
    statementTimeoutMs = 30_000,
    expireTo = 'ready',
    clock = systemClock,
  } = options
  checkInteger('heartbeatIntervalMs', heartbeatIntervalMs, 10, 86_400_000)
  checkInteger('leaseMs', leaseMs, 1, 7 * 86_400_000)
  checkInteger('maintenanceIntervalMs', maintenanceIntervalMs, 10, 86_400_000)
  checkInteger('blockedMs', blockedMs, 10, 86_400_000)
  checkInteger('statementTimeoutMs', statementTimeoutMs, 100, 86_400_000)
  if (expireTo !== 'ready' && expireTo !== 'expired') throw invalid('expireTo', expireTo, "must be 'ready' or 'expired'")
  if (refreshIntervalMs !== undefined) checkInteger('refreshIntervalMs', refreshIntervalMs, 60_000, 7 * 86_400_000)
  if (leaseMs <= 2 * heartbeatIntervalMs) throw invalid('leaseMs', leaseMs, 'must be more than twice heartbeatIntervalMs')
  return {
    heartbeatIntervalMs,
    leaseMs,
    maintenanceIntervalMs,
    blockedMs,
    refreshIntervalMs,
    statementTimeoutMs,
    expireTo,
    clock,
  }
}
