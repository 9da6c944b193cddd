/** One fire of a persisted job: what its handler decides, and what becomes of the job when it fails. */
import { setTimeout as delay } from 'node:timers/promises'
import { isPassing, isTaskError, TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { describe } from '../clock-jobs/job-log.ts'
import type { ClockJobLog } from '../clock-jobs/job-log.ts'
import type { ClockJobErrorPolicy } from '../clock-jobs/job.ts'
import { parseTimer } from '@taskstream/task-timers'
import { occurrenceOf } from '../periodic/occurrence.ts'
import type { PeriodicTaskInfo } from '../periodic/periodic-task.ts'
import type { PersistedClockJobContext, PersistedClockJobFunction, PersistedClockJobsOptions } from './options.ts'

interface Running extends Pick<PersistedClockJobsOptions<unknown, 'async'>, 'handlers' | 'retry'> {
  readonly onLog: ClockJobLog
  find(id: string): Promise<PeriodicTaskInfo | undefined>
  /** The database's clock, in epoch milliseconds. */
  now(): Promise<number>
  unschedule(id: string): Promise<void>
}

export async function runJob(task: HeldTask, signal: AbortSignal, running: Running): Promise<TaskDecision> {
  const { handlers, onLog } = running
  const id = task.identifier
  const info = await find(id, signal, running)
  // Pushed before it was unscheduled.
  if (!info) return TaskDecision.filter('The job was unscheduled')
  const { handler, onError } = (task.headers ?? {}) as { readonly handler: string; readonly onError: ClockJobErrorPolicy }
  // None that was submitted by hand.
  const scheduledFor = occurrenceOf(task)?.at ?? new Date(await running.now())
  const context: PersistedClockJobContext = { id, scheduledFor, tries: task.tries, signal }
  const work: PersistedClockJobFunction | undefined = Object.hasOwn(handlers, handler) ? handlers[handler] : undefined
  // A release that does not have it must not end the job for those that do.
  if (!work) return TaskDecision.retry({ afterMs: unknownHandlerMs }, `There is no handler "${handler}" in this process`)
  try {
    await work(context)
    return TaskDecision.success()
  } catch (error) {
    // Handed back, to be run again by somebody else: nothing failed.
    if (signal.aborted) throw error
    const pause = running.retry?.(context, error)
    if (pause !== undefined && (await running.now()) + pause < lastRetryOf(info, scheduledFor))
      return TaskDecision.retry({ afterMs: Math.round(pause) }, error)
    if (onError.startsWith('log'))
      onLog({ message: `Unable to execute the job "${id}": ${describe(error)}`, id, scheduledFor, error })
    if (onError.endsWith('terminate')) await running.unschedule(id).catch(unlessGone)
    return TaskDecision.failure(error)
  }
}

const unknownHandlerMs = 10_000
const findAgainMs = 1_000

/** Nothing has run yet: that the database is away, or busy, is not to be the job's failure. */
async function find(id: string, signal: AbortSignal, running: Running): Promise<PeriodicTaskInfo | undefined> {
  for (;;) {
    try {
      return await running.find(id)
    } catch (error) {
      if (!isPassing(error)) throw error
      await delay(findAgainMs, undefined, { signal })
    }
  }
}

/** No retry begins when the next fire is due, or nothing is any more; by the database's clock, which is what is due goes by. */
function lastRetryOf({ timer, end }: PeriodicTaskInfo, scheduledFor: Date): number {
  return Math.min(parseTimer(timer).next(scheduledFor.getTime()) ?? Infinity, end?.getTime() ?? Infinity)
}

function unlessGone(error: unknown): void {
  if (!isTaskError(error, 'JOB_UNKNOWN')) throw error
}
