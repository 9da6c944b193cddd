/** What becomes of a timer that is due: no I/O, and no clock but the one that is given. */
import type { Misfire, StoredTimer, TimerStatus, TimerWait } from '@taskstream/task-api'
import { parseTimer } from '@taskstream/task-timers'
import type { Timer } from '@taskstream/task-timers'
import { jitterOf } from './occurrence.ts'

/** What of a timer decides. Instants are epoch milliseconds. */
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

/** An occurrence, and when it is to be submitted. */
interface Next {
  readonly occurrence: number
  readonly due: number
}

/** What is to be done, and what comes after it; `ended` says why nothing does. */
export interface Firing {
  /** The occurrences that are to be submitted, in order; none if it is too late for all that were missed. */
  readonly submit: readonly number[]
  /** What comes next if they are, or are passed over without counting. */
  readonly next?: Next
  readonly ended?: string
}

/** What comes after an occurrence. */
export type After = Omit<Firing, 'submit'>

/** @throws TaskError ARGUMENT_INVALID if its timer cannot be read: a later release has written it, or a hand */
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
    // mutants: equivalent nullish:timer.start, null is before every instant
    start: timer.start ?? undefined,
    end: timer.end ?? undefined,
    maxCount: timer.maxCount ?? undefined,
    fired,
  }
}

/** Whether each of the occurrences that were missed is submitted, and not only the first. */
export function isEach(misfire: Misfire): boolean {
  return misfire === 'catch-up' || misfire === 'drop'
}

/** By how much an occurrence may be late where nothing is said of it. */
const lateBy: Partial<Record<Misfire, number>> = { skip: 60_000, drop: 60_000 }

/** By how much an occurrence may be late, its jitter included; it may be without end. */
// mutants: equivalent nullish:lateBy[misfire], what is no number is exceeded by nothing either
export function latestMs({ misfire, lateMs = lateBy[misfire] ?? Infinity, jitterMs }: Schedule): number {
  return lateMs + jitterMs
}

/** The first occurrence of a timer that begins, or begins anew, now. */
export function firstOf(schedule: Schedule, now: number): After {
  const { timer, start } = schedule
  return follow(schedule, start !== undefined && start >= now ? timer.next(start - 1) : timer.next(now))
}

/** An occurrence that a timer waits for already, while what else is said of it changes. */
export function keep(schedule: Schedule, occurrence: number): After {
  return follow(schedule, occurrence)
}

/**
 * @param occurrence the one that is due
 * @param most so many are submitted, and one at least
 */
export function fire(schedule: Schedule, occurrence: number, now: number, most: number): Firing {
  const { timer, misfire, fired, maxCount } = schedule
  const inTime = now - latestMs(schedule)
  const submit: number[] = []
  for (let each = occurrence; ;) {
    const isLate = each < inTime
    // What is due at this very moment is not late.
    const found = follow(schedule, isLate ? following(timer, each, (misfire === 'drop' ? now : inTime) - 1) : each)
    // Only what is to come is not too late; what is dropped is told by itself.
    if (!found.next || found.next.due > now || (isLate && misfire === 'drop')) return { submit, ...found }
    const submitted = found.next.occurrence
    submit.push(submitted)
    if (maxCount !== undefined && fired + submit.length >= maxCount) return { submit, ended: `it has fired ${maxCount} times` }
    const after = follow(schedule, isEach(misfire) ? timer.next(submitted) : following(timer, submitted, now))
    if (submit.length >= most || !after.next || after.next.due > now) return { submit, ...after }
    each = after.next.occurrence
  }
}

/** What comes when this occurrence is passed over, because the task before has not ended. */
export function passOver(schedule: Schedule, occurrence: number, now: number): After {
  return follow(schedule, following(schedule.timer, occurrence, now))
}

/** Clocks are set back by two hours at most, and then show the same for twice as long. */
// mutants: equivalent number, it may be more
const repeatedMs = 4 * 3_600_000

/**
 * The first occurrence after an instant, of those that follow one from another. What the timer itself says of an instant at which clocks show
 * an hour for the second time is another matter: what has occurred in the first of them would occur again.
 */
function following(timer: Timer, occurrence: number, instant: number): number | undefined {
  let next = timer.next(occurrence)
  if (next === undefined || next > instant) return next
  // mutants: equivalent condition:false, it takes longer
  if (timer.zone === 'UTC') return timer.next(instant)
  // mutants: equivalent method statement, it takes longer
  next = timer.next(Math.max(occurrence, instant - repeatedMs))
  while (next !== undefined && next <= instant) next = timer.next(next)
  return next
}

function follow({ scope, id, end, jitterMs }: Schedule, occurrence: number | undefined): After {
  if (occurrence === undefined) return { ended: 'its timer never elapses again' }
  if (end !== undefined && occurrence > end) return { ended: `it ends ${new Date(end).toISOString()}` }
  return { next: { occurrence, due: occurrence + jitterOf(scope, id, occurrence, jitterMs) } }
}

/** What a timer waits for: only a running one waits. */
export function waiting(status: TimerStatus, { next, ended }: After): TimerWait {
  const shown: TimerStatus = status === 'running' && !next ? 'ended' : status
  return {
    status: shown,
    note: shown === 'ended' ? (ended ?? null) : null,
    occurrence: shown === 'running' ? next!.occurrence : null,
    due: shown === 'running' ? next!.due : null,
  }
}
