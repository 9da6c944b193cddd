import { checkDuration, checkInteger, checkOptions, checkState, checkText, invalid } from '@taskstream/task-api'
import type { Execution, TaskNotifier, TimedTaskRepository, TransactionSource } from '@taskstream/task-api'
import type { ProcessOptions, RetryPolicy } from '@taskstream/task-processor'
import type { ClockJobContext } from '../clock-jobs/job.ts'
import { logToConsole, safeLog } from '../clock-jobs/job-log.ts'
import type { ClockJobLog } from '../clock-jobs/job-log.ts'
import { periodicLimits } from '../periodic/definition.ts'

/** What a handler of persisted jobs is told: which of the job's fires it is, is not. */
export type PersistedClockJobContext = Omit<ClockJobContext, 'count'>

export type PersistedClockJobFunction = (context: PersistedClockJobContext) => unknown

export interface PersistedClockJobsOptions<Transaction, E extends Execution> {
  readonly repository: TimedTaskRepository<NoInfer<Transaction>, E>
  readonly transactions: TransactionSource<Transaction>
  /** By the names under which they are scheduled. Every process that may run a job has them all. */
  readonly handlers: Readonly<Record<string, PersistedClockJobFunction>>
  /** Where jobs are pushed when they are due; also whose timers they are. 1 to 200 characters. Default `jobs`. */
  readonly topic?: string
  /** How many run at a time in this process, 1 to 1000. Default 5. */
  readonly workers?: number
  /** Under `ignore`: a fire that is late by more is dropped, in milliseconds. Default 5 000. */
  readonly waitingTimeMs?: number
  /** When a fire that failed is tried again. None begins when the job's next fire is due. Default: no retry. */
  readonly retry?: RetryPolicy<PersistedClockJobContext>
  /** Wakes this process when another has scheduled something. */
  readonly notifier?: TaskNotifier
  /** Hears of jobs that failed or missed their time, where their policies say that it is logged. Default `console.error`. */
  readonly onLog?: ClockJobLog
  /**
   * How long fires that have ended are kept, by their state, in milliseconds: the node's maintenance purges what is older. Default: those that
   * failed for 30 days, others for one. With `{}` for ever.
   */
  readonly retainMs?: ProcessOptions<Transaction>['retainMs']
}

/** The same, with the defaults. */
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

/** @throws TaskError ARGUMENT_INVALID, naming the option */
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
