import { checkNames, optionNames, checkDuration } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'

/**
 * What became of the tasks that were held when a stop began, and of those that a poll under way still brought: each is in exactly one of the
 * three. Of a commit that went unanswered the database is asked.
 */
export interface StopReport {
  /** Completed: as their handler decided, or as failed or to be retried without it. */
  readonly finished: readonly HeldTask[]
  /** Handed back, undone: ready again, with their try refunded. */
  readonly returned: readonly HeldTask[]
  /**
   * Neither, for all that is known: the database could not be reached for so long, or would write nothing of them, or others have taken them over.
   * While the node lives, it goes on trying to hand them back; when the owner is dead, they are taken from it.
   */
  readonly abandoned: readonly HeldTask[]
}

export interface StopOptions {
  /** How long handlers may go on, in milliseconds. Default 10 000. */
  readonly graceMs?: number
  /** How long they may take to let go once they are asked to, in milliseconds. Default 2 000. */
  readonly abortMs?: number
  /**
   * How long the database may take for what is left to be done then: to hand back what is still held, and to remove the owner, in milliseconds.
   * Default 10 000. A stop takes no longer than the three together, whatever handlers and database do.
   */
  readonly leaveMs?: number
}

const names = optionNames<StopOptions>('stop', { graceMs: true, abortMs: true, leaveMs: true })

/** @returns them with their defaults @throws TaskError ARGUMENT_INVALID */
export function checkStopOptions(options: StopOptions): Required<StopOptions> {
  checkNames(names, options)
  const { graceMs = 10_000, abortMs = 2_000, leaveMs = 10_000 } = options
  checkDuration('graceMs', graceMs)
  checkDuration('abortMs', abortMs)
  checkDuration('leaveMs', leaveMs)
  return { graceMs, abortMs, leaveMs }
}

export const nothingHeld: StopReport = { finished: [], returned: [], abandoned: [] }

/** The report of several topics. */
export function joinReports(reports: readonly StopReport[]): StopReport {
  return {
    finished: reports.flatMap(({ finished }) => finished),
    returned: reports.flatMap(({ returned }) => returned),
    abandoned: reports.flatMap(({ abandoned }) => abandoned),
  }
}
