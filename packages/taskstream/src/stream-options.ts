import type { Execution, TaskNotifier, TransactionSource } from '@taskstream/task-api'
import type { StopOptions, StopReport, TaskNodeOptions } from '@taskstream/task-processor'
import type { SqlTaskRepository } from '@taskstream/task-sql'

/** Options of a stream, for every driver. */
export interface StreamOptions<Transaction> extends Pick<
  TaskNodeOptions<Transaction>,
  'heartbeatIntervalMs' | 'leaseMs' | 'maintenanceIntervalMs' | 'statementTimeoutMs' | 'limiter' | 'listener' | 'clock'
> {
  /** Whether `start` and `prepare` bring the tables to the version of this release. Default true. Without it, run `taskstream migrate` before. */
  readonly migrate?: boolean
  /**
   * The name of the application, 1 to 200 characters. Timers that this application had defined before, and no longer defines, are removed at its
   * start. Default: no timer is removed.
   */
  readonly application?: string
}

/** What an entry makes of a driver. */
export interface StreamDriver<Transaction, E extends Execution> {
  readonly repository: SqlTaskRepository<NoInfer<Transaction>, E>
  readonly transactions: TransactionSource<Transaction>
  readonly notifier?: TaskNotifier | undefined
}

export interface StartOptions extends StopOptions {
  /** The signals on which the stream stops in phases, such as SIGTERM and SIGINT. Default: none. */
  readonly stopOn?: readonly NodeJS.Signals[]
  /** Called when the stream has stopped because of a signal. Close your pool here, so that the process ends. */
  readonly onStopped?: (report: StopReport) => void
}
