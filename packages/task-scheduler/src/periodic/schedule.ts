/** Computes what happens to a due timer. This module has no I/O and no clock of its own. */
import type { Misfire, StoredTimer, TimerStatus, TimerWait } from '@taskstream/task-api'
import { parseTimer } from '@taskstream/task-timers'
import type { Timer } from '@taskstream/task-timers'
import { jitterOf } from './occurrence.ts'

/** The fields of a timer that decide its occurrences. Instants are epoch milliseconds. */
export interface Schedule {
  readonly scope: string
  readonly id: string
  readonly timer: Timer
  readonly misfire: Misfire
  readonly lateMs?: number | undefined
  readonly jitterMs: number
  readonly start?: number | undefined
  readonly end?: number | undefined
  readonly maxCount?: number | undefined
  readonly fired: number
}

/** An occurrence, and the instant at which it is submitted: later by its jitter. */
interface Next {
  readonly occurrence: number
  readonly due: number
}

/** The occurrences to submit, and the occurrence after them. `ended` says why there is none. */
export interface Firing {
  /** The occurrences to submit, in order. Empty if all missed occurrences are too late. */
  readonly submit: readonly number[]
  /** The next occurrence after these. */
  readonly next?: Next
  readonly ended?: string
}

/** The occurrence that follows, or why none does. */
export type After = Omit<Firing, 'submit'>

/** Reads a stored timer. @throws TaskError ARGUMENT_INVALID if its expression cannot be read: a later release or a person has written it */
export function toSchedule(
  timer: Pick<StoredTimer, 'scope' | 'id' | 'timer' | 'misfire' | 'lateMs' | 'jitterMs' | 'start' | 'end' | 'maxCount' | 'fired'>,
): Schedule {
  const { scope, id, misfire, jitterMs, fired } = timer
  return {
    scope,
    id,
    timer: parseTimer(timer.timer),
    misfire,
    lateMs: timer.lateMs ?? undefined,
    jitterMs,
    // mutants: equivalent nullish:timer.start, null compares as before every instant
    start: timer.start ?? undefined,
    end: timer.end ?? undefined,
    maxCount: timer.maxCount ?? undefined,
    fired,
  }
}

/** Tells whether every missed occurrence is submitted, and not only one. */
export function isEach(misfire: Misfire): boolean {
  return misfire === 'catch-up' || misfire === 'drop'
}

/** The default of `lateMs`: infinite for the misfires that are not listed. */
const lateBy: Partial<Record<Misfire, number>> = { skip: 60_000, drop: 60_000 }

/** How late an occurrence may be submitted, in milliseconds, jitter included. May be infinite. */
// mutants: equivalent nullish:lateBy[misfire], nothing is greater than NaN either
export function latestMs({ misfire, lateMs = lateBy[misfire] ?? Infinity, jitterMs }: Schedule): number {
  return lateMs + jitterMs
}

/** If the last occurrence lies further ahead than this, in milliseconds, a clock was wrong when it fired, and the timer need not wait for that time. */
const longestStepMs = 3_600_000

/** From when a timer begins that begins again: the clock may have been set back behind what it has fired already. */
export function againFrom({ now, lastOccurrence }: Pick<StoredTimer, 'now' | 'lastOccurrence'>): number {
  return lastOccurrence !== null && lastOccurrence > now && lastOccurrence - now <= longestStepMs ? lastOccurrence : now
}

/** Finds the first occurrence of a timer that begins, or begins again, now. */
export function firstOf(schedule: Schedule, now: number): After {
  const { timer, start } = schedule
  const from = start !== undefined && start >= now ? start - 1 : now
  // The search begins before a change of clocks, because a time in a repeated hour occurs in the first pass only.
  return follow(schedule, following(timer, Math.max(0, from - repeatedMs), from))
}

/** Keeps the occurrence that a timer already waits for, under the timer's new `end` and jitter. */
export function keep(schedule: Schedule, occurrence: number): After {
  return follow(schedule, occurrence)
}

/**
 * Finds the occurrences to submit, and the occurrence after them.
 *
 * @param occurrence the first occurrence that is due
 * @param most how many occurrences to submit at most, 1 or more
 */
export function fire(schedule: Schedule, occurrence: number, now: number, most: number): Firing {
  const { timer, misfire, fired, maxCount } = schedule
  const inTime = now - latestMs(schedule)
  const submit: number[] = []
  for (let each = occurrence; ;) {
    const isLate = each < inTime
    // An occurrence of this very moment is not late.
    const found = follow(schedule, isLate ? following(timer, each, (misfire === 'drop' ? now : inTime) - 1) : each)
    // Either only later occurrences remain, or late ones were dropped, which is reported before others are submitted.
    if (!found.next || found.next.due > now || (isLate && misfire === 'drop')) return { submit, ...found }
    const submitted = found.next.occurrence
    submit.push(submitted)
    if (maxCount !== undefined && fired + submit.length >= maxCount) return { submit, ended: `it has fired ${maxCount} times` }
    const after = follow(schedule, isEach(misfire) ? timer.next(submitted) : following(timer, submitted, now))
    if (submit.length >= most || !after.next || after.next.due > now) return { submit, ...after }
    each = after.next.occurrence
  }
}

/** Finds the occurrence after one that is passed over, as the timer's last task has not ended. */
export function passOver(schedule: Schedule, occurrence: number, now: number): After {
  return follow(schedule, following(schedule.timer, occurrence, now))
}

/** Clocks are set back by two hours at most, and then show the same times for twice as long. */
// mutants: equivalent number, a longer time gives the same occurrences
const repeatedMs = 4 * 3_600_000

/**
 * Finds the first occurrence after an instant by following the occurrences one by one. Asking the timer for the instant itself would be wrong while
 * clocks show an hour for the second time: occurrences of the first hour would occur again.
 */
function following(timer: Timer, occurrence: number, instant: number): number | undefined {
  let next = timer.next(occurrence)
  if (next === undefined || next > instant) return next
  // mutants: equivalent condition:false, the other way takes longer
  if (timer.zone === 'UTC') return timer.next(instant)
  // mutants: equivalent method statement, the search takes longer
  next = timer.next(Math.max(occurrence, instant - repeatedMs))
  while (next !== undefined && next <= instant) next = timer.next(next)
  return next
}

function follow({ scope, id, end, jitterMs }: Schedule, occurrence: number | undefined): After {
  if (occurrence === undefined) return { ended: 'its timer never elapses again' }
  if (end !== undefined && occurrence > end) return { ended: `it ends ${new Date(end).toISOString()}` }
  return { next: { occurrence, due: occurrence + jitterOf(scope, id, occurrence, jitterMs) } }
}

/** Gives the stored fields that say what a timer waits for. Only a running timer waits for an occurrence. */
export function waiting(status: TimerStatus, { next, ended }: After): TimerWait {
  const shown: TimerStatus = status === 'running' && !next ? 'ended' : status
  return {
    status: shown,
    note: shown === 'ended' ? (ended ?? null) : null,
    occurrence: shown === 'running' ? next!.occurrence : null,
    due: shown === 'running' ? next!.due : null,
  }
}
