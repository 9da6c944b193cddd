import { constants } from 'node:os'
import { checkNames, invalid, optionNames } from '@taskstream/task-api'
import type { Execution, Insertion, OptionNames, TaskNotifier, TransactionSource } from '@taskstream/task-api'
import type { AnyJob, JobMiddleware, SigningOptions, VerificationOptions } from '@taskstream/task-jobs'
import { checkStopOptions } from '@taskstream/task-processor'
import type { Clock, ProcessOptions, StopOptions, StopReport, TaskNodeOptions } from '@taskstream/task-processor'
import type { SqlTaskRepository } from '@taskstream/task-sql'

/** Options of a stream, for every driver. */
export interface StreamOptions<Transaction> extends Pick<
  TaskNodeOptions<Transaction>,
  | 'heartbeatIntervalMs'
  | 'leaseMs'
  | 'maintenanceIntervalMs'
  | 'statementTimeoutMs'
  | 'keepAttemptsMs'
  | 'keepAuditMs'
  | 'limiter'
  | 'listener'
  | 'clock'
> {
  /** Whether `start` and `prepare` bring the tables to the version of this release. Default true. Without it, run `taskstream migrate up` before. */
  readonly migrate?: boolean
  /**
   * The name of the application, 1 to 200 characters: of one program, not of several. Timers that it had defined before, and no longer defines, are removed
   * at its start, or once no living process of it defines them. Default: no timer is removed.
   */
  readonly application?: string
  /** The private key by which this process signs the jobs that it pushes and whose definitions are `signed`. Default: none. */
  readonly signing?: SigningOptions
  /** The public keys by which this process verifies the jobs that it handles and whose definitions are `signed`. Default: none. */
  readonly verification?: VerificationOptions
}

/** What an entry makes of a driver. */
export interface StreamDriver<Transaction, E extends Execution> {
  readonly repository: SqlTaskRepository<NoInfer<Transaction>, E>
  readonly transactions: TransactionSource<Transaction>
  readonly notifier?: TaskNotifier | undefined
  /** By which clock `wait` looks again. Default: that of the stream. */
  readonly waitClock?: Clock
}

export interface StartOptions extends StopOptions {
  /** The signals on which the stream stops in phases, such as SIGTERM and SIGINT. Default: none. */
  readonly stopOn?: readonly NodeJS.Signals[]
  /** Called when the stream has stopped because of a signal. Close your pool here, so that the process ends. */
  readonly onStopped?: (report: StopReport) => void
}

/** How the jobs of one definition are handled, or those of one queue. */
export interface HandleOptions<Transaction> extends Pick<
  ProcessOptions<Transaction>,
  'mode' | 'idleMs' | 'retainMs' | 'activation' | 'shares'
> {
  /** How many jobs of the definition or queue this process handles at a time, 1 to 10 000. Default 10; in transactional mode 2, as each needs a connection. */
  readonly concurrency?: number
  /**
   * How many commits may share a transaction, 1 to 1000. Default 20: commits that are ready while others are under way go together, which is about
   * three times as fast. If one of them throws, each runs again alone. With 1, each has a transaction of its own from the first.
   */
  readonly share?: number
  /** Middleware around the handler, the first outermost, inside of what `stream.use` has added. */
  readonly use?: readonly JobMiddleware<Transaction>[]
}

export interface WaitOptions {
  /** How long to wait, in milliseconds, 0 to 100 years. Default: until the job ends, however long that takes. */
  readonly timeoutMs?: number
  /** Ends the waiting with its reason. */
  readonly signal?: AbortSignal
}

/** Options of a push of several jobs. */
export interface PushManyOptions {
  readonly insertion?: Exclude<Insertion, 'delete'>
}

export const streamNames: OptionNames = optionNames<StreamOptions<never>>('taskstream', {
  heartbeatIntervalMs: true,
  leaseMs: true,
  maintenanceIntervalMs: true,
  statementTimeoutMs: true,
  keepAttemptsMs: true,
  keepAuditMs: true,
  limiter: true,
  listener: true,
  clock: true,
  migrate: true,
  application: true,
  signing: true,
  verification: true,
})
export const handleNames: OptionNames = optionNames<HandleOptions<never>>('handle', {
  concurrency: true,
  share: true,
  use: true,
  mode: true,
  idleMs: true,
  retainMs: true,
  activation: true,
  shares: true,
})
export const routeNames: OptionNames = { ...handleNames, of: 'route' }
export const waitNames: OptionNames = optionNames<WaitOptions>('wait', { timeoutMs: true, signal: true })
const pushManyNames: OptionNames = optionNames<PushManyOptions>('pushMany', { insertion: true })
const startNames: OptionNames = optionNames<StartOptions>('start', {
  stopOn: true,
  onStopped: true,
  graceMs: true,
  abortMs: true,
  leaveMs: true,
})

/** @throws TaskError ARGUMENT_INVALID unless older jobs of a key may be ended by a push of new ones */
export function checkInsertion({ name, settings }: AnyJob, options: PushManyOptions): void {
  checkNames(pushManyNames, options)
  const { insertion = 'append' } = options
  const { queue, subKeys } = settings
  // Under `delete` some jobs would have no reference.
  if ((insertion as string) === 'delete') throw invalid('insertion', insertion, 'must be append, supersede or replace')
  if (insertion === 'append') return
  if (queue) throw invalid('insertion', insertion, `must be append: "${name}" shares its queue, and would end jobs of others`)
  if (subKeys)
    throw invalid('insertion', insertion, `must be append: "${name}" has perKey, and would end only some jobs of a key`)
}

/** Checks the options of a start, before anything runs that a refusal would leave behind. @throws TaskError ARGUMENT_INVALID */
export function checkStart(options: StartOptions): void {
  checkNames(startNames, options)
  const { stopOn, onStopped, ...stopOptions } = options
  // A text is a list of letters, and Node.js listens for any name: the process would never be asked to stop.
  if (
    stopOn !== undefined &&
    !(Array.isArray(stopOn) && stopOn.every((signal) => Object.hasOwn(constants.signals, String(signal))))
  )
    throw invalid('stopOn', stopOn, "must be a list of signals, such as ['SIGTERM', 'SIGINT']")
  if (onStopped !== undefined && typeof onStopped !== 'function') throw invalid('onStopped', onStopped, 'must be a function')
  checkStopOptions(stopOptions)
}
