/** Submitting what is due: of one timer, in one transaction. */
import type { NoTimerDue, PushedTask, StoredTimer, TimerChange, TimerKey } from '@taskstream/task-api'
import { fire, passOver, toSchedule, waiting } from './schedule.ts'
import type { After } from './schedule.ts'
import { externalIdOf } from './occurrence.ts'
import { answer } from './steps.ts'
import type { Steps, Work } from './steps.ts'
import { submit, unfinished } from './submit.ts'
import { zonesDiffer } from './zones-differ.ts'
import type { ZonesDiffer } from './zones-differ.ts'

/** What came of an occurrence that was due. */
export interface FiredOccurrence {
  readonly outcome: 'submitted' | 'unfinished' | 'late'
  readonly timer: TimerKey
  /** The occurrence that was due. */
  readonly occurrence: Date
  readonly task?: PushedTask
  /** The timer will never fire again, because of this. */
  readonly ended?: string
}

/** What looking for a due timer came to. */
export type Fired = FiredOccurrence | NoTimerDue

/** What came of each occurrence of a timer, and the timer as it is then. */
export interface FiredTimer {
  readonly occurrences: readonly FiredOccurrence[]
  readonly timer: StoredTimer
  /** The first of them is not what this node would have found. */
  readonly differs?: ZonesDiffer
}

/** The same, of several occurrences of one timer. */
export type FiredSeveral = FiredTimer | NoTimerDue

/**
 * Fires the first timer that is due. It stays locked until the transaction ends: whoever fires it moves it on and pushes its task, both or
 * neither.
 *
 * @param without leaves these alone, by their `timerKey`
 * @param at is told which timer is at work, for whoever catches what it throws
 * @param most so many occurrences of it, if its tasks need not wait for each other
 */
export function* fireNext(
  work: Work,
  without: ReadonlySet<string>,
  at: (timer: TimerKey) => void,
  most: number,
): Steps<FiredSeveral> {
  const found = yield* answer(work.timers.lockDue(work.transaction, without))
  if ('outcome' in found) return found
  at({ scope: found.scope, id: found.id })
  return yield* fireTimer(work, found, most)
}

/** One occurrence of the first timer that is due. */
export function* fireOne(work: Work): Steps<Fired> {
  // mutants: equivalent number, one is taken at least
  const fired = yield* fireNext(work, nobody, () => {}, 1)
  return 'outcome' in fired ? fired : fired.occurrences[0]!
}

const nobody: ReadonlySet<string> = new Set()

/** Tasks of one push have so many characters of input together, or there is one. */
const inputsLength = 1_000_000

/**
 * Submits the occurrences that are due of a locked timer, at most so many, and moves the timer on. Where an occurrence has to wait for the task
 * before it, one is looked at.
 */
export function* fireTimer(work: Work, timer: StoredTimer, most: number): Steps<FiredTimer> {
  const { scope, id, input, now } = timer
  const schedule = toSchedule(timer)
  const occurrence = timer.occurrence!
  const differs = zonesDiffer(schedule, occurrence)
  const mayOverlap = timer.whileUnfinished === 'push'
  function* passOn(outcome: 'unfinished' | 'late', after: After, counted: TimerChange): Steps<FiredTimer> {
    const occurrences = [{ timer: { scope, id }, occurrence: new Date(occurrence), outcome, ...ending(after) }]
    return { occurrences, timer: yield* moveOn(work, timer, after, counted), ...(differs && { differs }) }
  }
  if (!mayOverlap && (yield* unfinished(work, timer)) !== undefined)
    return yield* passOn('unfinished', passOver(schedule, occurrence, now), { skipped: timer.skipped + 1 })
  // mutants: equivalent number, without an input all of them fit
  const fits = Math.floor(inputsLength / (input?.length ?? 1))
  // mutants: equivalent number, one is taken at least
  const firing = fire(schedule, occurrence, now, mayOverlap ? Math.min(most, fits) : 1)
  const last = firing.submit.at(-1)
  if (last === undefined) return yield* passOn('late', firing, {})
  const externalIds = firing.submit.map((each) => externalIdOf(scope, id, each))
  const tasks = yield* submit(work, timer, externalIds)
  const occurrences = tasks.map((task, index) => ({
    timer: { scope, id },
    occurrence: new Date(firing.submit[index]!),
    outcome: 'submitted' as const,
    task,
    ...(index === tasks.length - 1 && ending(firing)),
  }))
  const moved = yield* moveOn(work, timer, firing, {
    fired: timer.fired + tasks.length,
    lastOccurrence: last,
    lastTopic: timer.topic,
    lastSequence: tasks.at(-1)!.sequence,
  })
  return { occurrences, timer: moved, ...(differs && { differs }) }
}

function ending({ ended }: After): { readonly ended?: string } {
  return ended === undefined ? {} : { ended }
}

function* moveOn({ transaction, timers }: Work, timer: StoredTimer, after: After, counted: TimerChange): Steps<StoredTimer> {
  const change = { ...waiting('running', after), ...counted }
  yield* answer(timers.change(transaction, timer, change))
  return { ...timer, ...change }
}
