/** Runs one fire of a persisted job, and applies the job's policies if it fails. */
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
  // The job was unscheduled after this fire was pushed.
  if (!info) return TaskDecision.filter('The job was unscheduled')
  const { handler, onError } = (task.headers ?? {}) as { readonly handler: string; readonly onError: ClockJobErrorPolicy }
  // A fire that was submitted by hand has no occurrence.
  const scheduledFor = occurrenceOf(task)?.at ?? new Date(await running.now())
  const context: PersistedClockJobContext = { id, scheduledFor, tries: task.tries, signal }
  const work: PersistedClockJobFunction | undefined = Object.hasOwn(handlers, handler) ? handlers[handler] : undefined
  // A process of another release may lack the handler. It must not end the job for processes that have the handler.
  if (!work) return TaskDecision.retry({ afterMs: unknownHandlerMs }, `There is no handler "${handler}" in this process`)
  try {
    await work(context)
    return TaskDecision.success()
  } catch (error) {
    // An aborted fire did not fail: it is handed back, and another process runs it again.
    if (signal.aborted) throw error
    const pause = running.retry?.(context, error)
    if (pause !== undefined && (await running.now()) + pause < lastRetryOf(info, scheduledFor))
      return TaskDecision.retry({ afterMs: Math.round(pause) }, error)
    const terminate = onError.endsWith('terminate')
    const tries = task.tries > 1 ? ` after ${task.tries} tries` : ''
    const end = terminate ? ' and is unscheduled' : ''
    if (onError.startsWith('log'))
      onLog({ message: `Job "${id}" failed${tries}${end}: ${describe(error)}`, id, scheduledFor, error })
    if (terminate) await running.unschedule(id).catch(unlessGone)
    return TaskDecision.failure(error)
  }
}

const unknownHandlerMs = 10_000
const findAgainMs = 1_000

/** Looks up the job, and waits for a database that is away or busy: the handler has not run yet, so the job must not fail. */
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

/** From this time of the database's clock on, no retry begins: the next time on the job's grid, or the job's end. */
function lastRetryOf({ timer, end }: PeriodicTaskInfo, scheduledFor: Date): number {
  return Math.min(parseTimer(timer).next(scheduledFor.getTime()) ?? Infinity, end?.getTime() ?? Infinity)
}

function unlessGone(error: unknown): void {
  if (!isTaskError(error, 'JOB_UNKNOWN')) throw error
}
