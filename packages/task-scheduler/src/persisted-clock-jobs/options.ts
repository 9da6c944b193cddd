import { checkDuration, checkInteger, checkOptions, checkState, checkText, invalid } from '@taskstream/task-api'
import type { Execution, TaskNotifier, TimedTaskRepository, TransactionSource } from '@taskstream/task-api'
import type { ProcessOptions, RetryPolicy } from '@taskstream/task-processor'
import type { ClockJobContext } from '../clock-jobs/job.ts'
import { logToConsole, safeLog } from '../clock-jobs/job-log.ts'
import type { ClockJobLog } from '../clock-jobs/job-log.ts'
import { periodicLimits } from '../periodic/definition.ts'

/** The argument of a handler of persisted jobs. It has no `count`, the number of the fire. */
export type PersistedClockJobContext = Omit<ClockJobContext, 'count'>

export type PersistedClockJobFunction = (context: PersistedClockJobContext) => unknown

export interface PersistedClockJobsOptions<Transaction, E extends Execution> {
  readonly repository: TimedTaskRepository<NoInfer<Transaction>, E>
  readonly transactions: TransactionSource<Transaction>
  /** The handlers, by the names under which jobs are scheduled. Every process that may run jobs needs all of them. */
  readonly handlers: Readonly<Record<string, PersistedClockJobFunction>>
  /** The topic to which due jobs are pushed, and the scope of their timers. 1 to 200 characters. Default `jobs`. */
  readonly topic?: string
  /** How many jobs run at a time in this process, 1 to 1000. Default 5. */
  readonly workers?: number
  /** By how many milliseconds a fire may be late before `ignore` and `log-and-ignore` drop it, 0 to 100 years. Default 5 000. */
  readonly waitingTimeMs?: number
  /** The policy for retries, for all jobs. No retry begins once the job's next fire is due. Default: no retry. */
  readonly retry?: RetryPolicy<PersistedClockJobContext>
  /** Wakes this process when another one has scheduled a job. */
  readonly notifier?: TaskNotifier
  /** Called for jobs that failed or missed their time, if their policies say that this is logged. Default `console.error`. */
  readonly onLog?: ClockJobLog
  /**
   * How long fires that have ended are kept, in milliseconds, by their state. The node's maintenance purges older ones. Default: failed fires are kept
   * for 30 days, other ones for one day. With `{}` they are kept for ever.
   */
  readonly retainMs?: ProcessOptions<Transaction>['retainMs']
}

/** The options, with their defaults. */
export type CheckedOptions<Transaction, E extends Execution> = Required<
  Omit<PersistedClockJobsOptions<Transaction, E>, 'retry' | 'notifier' | 'retainMs'>
> &
  Pick<PersistedClockJobsOptions<Transaction, E>, 'retry' | 'notifier'> & {
    readonly retainMs: NonNullable<PersistedClockJobsOptions<Transaction, E>['retainMs']>
  }

const dayMs = 86_400_000
const retainedMs = { succeeded: dayMs, filtered: dayMs, recreated: dayMs, redundant: dayMs, failed: 30 * dayMs }

const names: Record<keyof PersistedClockJobsOptions<unknown, Execution>, true> = {
  repository: true,
  transactions: true,
  handlers: true,
  topic: true,
  workers: true,
  waitingTimeMs: true,
  retry: true,
  notifier: true,
  onLog: true,
  retainMs: true,
}

/** Checks the options, and adds their defaults. @throws TaskError ARGUMENT_INVALID, naming the option */
export function checkPersistedClockJobsOptions<Transaction, E extends Execution>(
  options: PersistedClockJobsOptions<Transaction, E>,
): CheckedOptions<Transaction, E> {
  checkOptions('persisted jobs', options, names)
  const { topic = 'jobs', workers = 5, waitingTimeMs = 5_000, onLog = logToConsole, retainMs = retainedMs } = options
  const { repository, transactions, handlers, retry, notifier } = options
  if (typeof repository?.timers !== 'object') throw invalid('repository', repository, 'must be what sqlTaskRepository returns')
  checkFunction('transactions', transactions, 'such as pgTransactions(pool)')
  if (typeof handlers !== 'object' || handlers === null)
    throw invalid('handlers', handlers, 'must be an object of functions, by their names')
  for (const [name, handler] of Object.entries(handlers)) checkFunction(`handlers.${name}`, handler)
  checkText('topic', topic, periodicLimits.nameLength)
  checkInteger('workers', workers, 1, 1_000)
  checkDuration('waitingTimeMs', waitingTimeMs)
  if (retry !== undefined) checkFunction('retry', retry, 'such as fixed({ tries: 3, afterMs: 1_000 })')
  if (notifier !== undefined && typeof notifier?.listen !== 'function')
    throw invalid('notifier', notifier, 'must have a method listen, as pgListener(…) has')
  checkFunction('onLog', onLog)
  for (const [state, ms] of Object.entries(retainMs)) {
    checkState('retainMs', state)
    if (state === 'active' || state === 'ready') throw invalid('retainMs', state, 'must be of states that have ended')
    checkDuration(`retainMs.${state}`, ms)
  }
  return { ...options, topic, workers, waitingTimeMs, retainMs, onLog: safeLog(onLog) }
}

function checkFunction(argument: string, value: unknown, such?: string): void {
  if (typeof value !== 'function') throw invalid(argument, value, `must be a function${such === undefined ? '' : `, ${such}`}`)
}
