import { checkInstant, checkInteger, checkOptions, invalid, taskLimits } from '@taskstream/task-api'
import type { RetryPolicy } from '@taskstream/task-processor'
import { every } from '@taskstream/task-timers'
import { checkElapse } from '@taskstream/task-timers'
import type { Timer } from '@taskstream/task-timers'
import { jobErrorPolicies, jobLatePolicies, jobOverlaps } from './job.ts'
import type { ClockJobContext, ClockJobErrorPolicy, ClockJobLatePolicy, ClockJobRetrying, ClockJobTrigger } from './job.ts'

/** The checked options of a job, with their defaults. */
export interface JobSettings {
  readonly timer: Timer
  /** When the first fire is due. */
  readonly firstMs: number
  readonly endMs: number
  readonly maxCount: number
  readonly onError: ClockJobErrorPolicy
  readonly whenLate: ClockJobLatePolicy
  readonly overlap: boolean
  readonly retry: RetryPolicy<ClockJobContext> | undefined
}

const names: Record<keyof (ClockJobTrigger & ClockJobRetrying), true> = {
  intervalMs: true,
  timer: true,
  start: true,
  end: true,
  maxCount: true,
  onError: true,
  whenLate: true,
  overlap: true,
  retry: true,
}

/** The names of the options of `schedule`: those of the trigger, and the id. */
export const jobNames: Record<keyof (ClockJobTrigger & ClockJobRetrying) | 'id', true> = { ...names, id: true }

/** Checks the options of a job at the time `now`. @throws TaskError ARGUMENT_INVALID */
export function checkJob(trigger: ClockJobTrigger & ClockJobRetrying, now: Date): JobSettings {
  checkOptions('a job', trigger, names)
  const { start, end, maxCount = -1, retry } = trigger
  const { onError = 'log-and-terminate', whenLate = 'wait', overlap = 'forbid' } = trigger
  checkTimes(start, end, now)
  if (maxCount !== -1 && !(Number.isSafeInteger(maxCount) && maxCount >= 1))
    throw invalid('maxCount', maxCount, 'must be a whole number of at least 1, or -1 for no limit')
  checkOneOf('onError', onError, jobErrorPolicies)
  checkOneOf('whenLate', whenLate, jobLatePolicies)
  checkOneOf('overlap', overlap, jobOverlaps)
  if (retry !== undefined && typeof retry !== 'function')
    throw invalid('retry', retry, 'must be a retry policy, such as fixed({ tries: 3, afterMs: 1_000 })')
  const endMs = end?.getTime() ?? Infinity
  const { timer, firstMs } = timesOf(trigger, now)
  if (firstMs === undefined || firstMs > endMs) throw invalid('timer', timer.expression, 'has no time left to fire at')
  return {
    timer,
    firstMs,
    endMs,
    maxCount: maxCount === -1 ? Infinity : maxCount,
    onError,
    whenLate,
    overlap: overlap === 'allow',
    retry,
  }
}

function checkTimes(start: Date | undefined, end: Date | undefined, now: Date): void {
  if (start !== undefined) checkElapse('start', start)
  if (end !== undefined) checkInstant('end', end)
  const itIs = `it is ${now.toISOString()}`
  if (start && end && end < start) throw invalid('end', toText(end), `must not be before start, which is ${toText(start)}`)
  if (start && start < now)
    throw invalid('start', toText(start), `must not be in the past, and ${itIs}: leave it out to start now`)
  if (end && end <= now) throw invalid('end', toText(end), `must be in the future, and ${itIs}`)
}

/** The timer of a job and its first fire. The grid of an interval begins with the first fire; a timer has its own grid. */
function timesOf({ timer, intervalMs, start }: ClockJobTrigger, now: Date): { timer: Timer; firstMs: number | undefined } {
  if (timer === undefined) {
    checkInteger('intervalMs', intervalMs, 1, taskLimits.durationMs)
    const from = start ?? now
    return { timer: every(intervalMs, { from }), firstMs: from.getTime() }
  }
  if (intervalMs !== undefined)
    throw invalid('intervalMs', intervalMs, 'cannot be given together with a timer: leave one of them out')
  if (typeof timer?.next !== 'function') throw invalid('timer', timer, "must be a timer, such as calendar('Mon..Fri 02:30')")
  return { timer, firstMs: timer.next(start ? start.getTime() - 1 : now.getTime()) }
}

function toText(instant: Date): string {
  return instant.toISOString()
}

function checkOneOf(argument: string, value: string, allowed: readonly string[]): void {
  if (!allowed.includes(value)) throw invalid(argument, value, `must be one of ${allowed.join(', ')}`)
}
