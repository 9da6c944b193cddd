import { checkNames, optionNames, checkDuration } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'

/**
 * The outcome of the tasks that were held when a stop began, or that a poll under way still brought. Each task is in exactly one of the three fields.
 * After a commit without an answer, the database was asked for the outcome. What a poll without an answer has taken is made ready, and is in none.
 */
export interface StopReport {
  /** Tasks that were completed: as their handler decided, or as failed or to be retried if the handler did not decide. */
  readonly finished: readonly HeldTask[]
  /** Tasks that were handed back undone: they are ready again, and their try is refunded. */
  readonly returned: readonly HeldTask[]
  /**
   * All other tasks: the database could not be reached, or refused to write them, or another owner has taken them over. While the node lives, it goes on
   * trying to hand them back. Once the owner is dead, they are taken from it.
   */
  readonly abandoned: readonly HeldTask[]
}

export interface StopOptions {
  /** How long handlers may go on, in milliseconds. Default 10 000. */
  readonly graceMs?: number
  /** How long handlers may take to let go once they are asked to, in milliseconds. Default 2 000. */
  readonly abortMs?: number
  /**
   * How long the database may then take to hand back the tasks that are still held and to remove the owner, in milliseconds. Default 10 000. A stop takes
   * no longer than the three times together, whatever handlers and database do.
   */
  readonly leaveMs?: number
}

const names = optionNames<StopOptions>('stop', { graceMs: true, abortMs: true, leaveMs: true })

/** Checks the options of a stop. @returns the options with their defaults @throws TaskError ARGUMENT_INVALID */
export function checkStopOptions(options: StopOptions): Required<StopOptions> {
  checkNames(names, options)
  const { graceMs = 10_000, abortMs = 2_000, leaveMs = 10_000 } = options
  checkDuration('graceMs', graceMs)
  checkDuration('abortMs', abortMs)
  checkDuration('leaveMs', leaveMs)
  return { graceMs, abortMs, leaveMs }
}

export const nothingHeld: StopReport = { finished: [], returned: [], abandoned: [] }

/** Joins the reports of several topics. */
export function joinReports(reports: readonly StopReport[]): StopReport {
  return {
    finished: reports.flatMap(({ finished }) => finished),
    returned: reports.flatMap(({ returned }) => returned),
    abandoned: reports.flatMap(({ abandoned }) => abandoned),
  }
}
