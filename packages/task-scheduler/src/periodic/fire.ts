/** Submits the due occurrences of one timer, in one transaction. */
import type { NoTimerDue, PushedTask, StoredTimer, TimerChange, TimerKey } from '@taskstream/task-api'
import { fire, passOver, toSchedule, waiting } from './schedule.ts'
import type { After } from './schedule.ts'
import { externalIdOf } from './occurrence.ts'
import { answer } from './steps.ts'
import type { Steps, Work } from './steps.ts'
import { submit, unfinished } from './submit.ts'
import { zonesDiffer } from './zones-differ.ts'
import type { ZonesDiffer } from './zones-differ.ts'

/** What happened to an occurrence that was due: its task was submitted, or it was passed over for an unfinished task or as too late. */
export interface FiredOccurrence {
  readonly outcome: 'submitted' | 'unfinished' | 'late'
  readonly timer: TimerKey
  /** The occurrence that was due. */
  readonly occurrence: Date
  readonly task?: PushedTask
  /** Why the timer never fires again. Undefined if it does. */
  readonly ended?: string
}

/** The outcome of a look for a due timer. */
export type Fired = FiredOccurrence | NoTimerDue

/** What happened to each due occurrence of a timer, and the timer after that. */
export interface FiredTimer {
  readonly occurrences: readonly FiredOccurrence[]
  readonly timer: StoredTimer
  /** Set if this node's time zone data would have given another first occurrence. */
  readonly differs?: ZonesDiffer
}

/** The outcome of a look for a due timer, with several occurrences. */
export type FiredSeveral = FiredTimer | NoTimerDue

/**
 * Fires the first timer that is due. The timer stays locked until the transaction ends. One transaction pushes the task and moves the timer on, so
 * both happen or neither.
 *
 * @param without timers to leave out, by their `timerKey`
 * @param at called with the timer before it fires, so that a caller who catches an error knows the timer
 * @param most how many occurrences to submit at most, if the timer's tasks need not wait for each other
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

/** Fires one occurrence of the first timer that is due. */
export function* fireOne(work: Work): Steps<Fired> {
  // mutants: equivalent number, at least one occurrence is taken
  const fired = yield* fireNext(work, nobody, () => {}, 1)
  return 'outcome' in fired ? fired : fired.occurrences[0]!
}

const nobody: ReadonlySet<string> = new Set()

/** How many characters of input the tasks of one push have together at most. A single task may have more. */
const inputsLength = 1_000_000

/**
 * Submits up to `most` due occurrences of a locked timer, and moves the timer on. If a task must wait until the timer's last task has ended, only one
 * occurrence is handled.
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
  // mutants: equivalent number, without an input all occurrences fit
  const fits = Math.floor(inputsLength / (input?.length ?? 1))
  // mutants: equivalent number, at least one occurrence is taken
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
