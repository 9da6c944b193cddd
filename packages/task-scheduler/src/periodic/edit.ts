/** Adds, changes and removes timers in the caller's transaction. */
import { invalid, TaskError } from '@taskstream/task-api'
import type { StoredTimer, TimerChange, TimerDefinition, TimerStatus } from '@taskstream/task-api'
import { checkPeriodicTask } from './definition.ts'
import type { CheckedTask } from './definition.ts'
import { fireTimer } from './fire.ts'
import { firstOf, keep, latestMs, toSchedule, waiting } from './schedule.ts'
import type { After } from './schedule.ts'
import { find } from './look.ts'
import type { PeriodicTask } from './periodic-task.ts'
import { answer } from './steps.ts'
import type { Steps, Work } from './steps.ts'

/** The scope of a timer, and the application that declares it, if any. */
export interface Place {
  readonly scope: string
  readonly application: string | null
}

/** What `schedule` did. */
export type Scheduled = 'added' | 'changed' | 'unchanged'

/** Adds a timer, or changes the timer of the same id. An occurrence that is due stays due. */
export function* schedule(work: Work, place: Place, task: PeriodicTask): Steps<Scheduled> {
  const checked = checkPeriodicTask(task)
  let timer = yield* answer(work.timers.lock(work.transaction, { scope: place.scope, id: checked.id }))
  if (!timer) {
    if (yield* insert(work, place, checked)) return 'added'
    // Another transaction has added the timer in between.
    timer = yield* find(work, place.scope, checked.id)
  }
  return (yield* change(work, checked, place.application ?? timer.application, timer, task.paused)) ? 'changed' : 'unchanged'
}

/** @throws TaskError TIMER_DUPLICATE */
export function* add(work: Work, place: Place, task: PeriodicTask): Steps<void> {
  const checked = checkPeriodicTask(task)
  if (yield* insert(work, place, checked)) return
  throw new TaskError(
    'TIMER_DUPLICATE',
    `There is a timer "${checked.id}" in the scope "${place.scope}" already: schedule changes it, or give this one an id of its own`,
    { scope: place.scope, id: checked.id },
  )
}

/** @throws TaskError TIMER_UNKNOWN */
export function* remove(work: Work, scope: string, id: string): Steps<void> {
  const found = yield* find(work, scope, id)
  yield* answer(work.timers.remove(work.transaction, { scope: found.scope, id: found.id }))
}

function* insert(work: Work, { scope, application }: Place, { id, paused, definition }: CheckedTask): Steps<boolean> {
  const { transaction, timers } = work
  const now = yield* answer(timers.now(transaction, definition.topic))
  // mutants: equivalent property `fired: 0`, a new timer may fire once at least
  const first = begin({ scope, id, fired: 0, now }, definition)
  const timer = {
    scope,
    id,
    application,
    ...definition,
    ...waiting(paused ? 'paused' : 'running', first),
    created: now,
    changed: now,
  }
  if (!(yield* answer(timers.add(transaction, timer)))) return false
  yield* answer(timers.notify(transaction))
  return true
}

function* change(
  work: Work,
  { definition }: CheckedTask,
  application: string | null,
  timer: StoredTimer,
  paused: boolean | undefined,
): Steps<boolean> {
  const { transaction, timers } = work
  const other = (Object.keys(definition) as (keyof TimerDefinition)[]).filter((key) => definition[key] !== timer[key])
  const retimed = other.some((key) => timing.has(key))
  const found = timer.status
  const status = statusAfter(found, paused, retimed)
  if (other.length === 0 && application === timer.application && status === found) return false
  const runs = found === 'running' && status === 'running'
  const begins = retimed || status !== found
  const values: TimerChange = {
    ...definition,
    application,
    changed: timer.now,
    ...(begins && (runs ? yield* goOn(work, definition, timer) : waiting(status, begin(timer, definition)))),
  }
  yield* answer(timers.change(transaction, timer, values))
  yield* answer(timers.notify(transaction))
  return true
}

/** A paused timer stays paused if `paused` is not given. An ended timer runs again if its times change. */
function statusAfter(found: TimerStatus, paused: boolean | undefined, retimed: boolean): TimerStatus {
  if (paused === undefined ? found === 'paused' : paused) return 'paused'
  return found === 'ended' && !retimed ? 'ended' : 'running'
}

/** The fields that decide when a timer fires. */
const timing: ReadonlySet<keyof TimerDefinition> = new Set(['timer', 'jitterMs', 'start', 'end', 'maxCount'])

/** Finds the next occurrence of a running timer whose times change. @throws TaskError ARGUMENT_INVALID */
function* goOn(work: Work, definition: TimerDefinition, timer: StoredTimer): Steps<TimerChange> {
  const { start } = definition
  const isDue = timer.occurrence! <= timer.now
  const isWanted = isDue ? start === null || start <= timer.occurrence! : start === timer.start
  if (isWanted && definition.timer === timer.timer) {
    checkCount(timer, definition)
    const kept = keep(toSchedule({ ...timer, ...definition }), timer.occurrence!)
    if (kept.next) return waiting('running', kept)
  }
  const first = begin(timer, definition)
  const isOver = isDue && isWanted && definition.timer !== timer.timer && (yield* submitDue(work, definition, timer))
  return isOver ? {} : waiting('running', first)
}

/** The most occurrences for one transaction. More are left to a scheduler, which takes several transactions. */
const mostDue = 10_000
const batch = 1_000

/**
 * Submits the occurrences that a timer's old expression has left due, as its new expression does not have them. The timer's new policies decide.
 *
 * @returns whether the timer has reached its `maxCount` @throws TaskError ARGUMENT_INVALID if too many occurrences are due for one transaction
 */
function* submitDue(work: Work, definition: TimerDefinition, timer: StoredTimer): Steps<boolean> {
  const old = { ...timer, ...definition, timer: timer.timer, jitterMs: timer.jitterMs }
  // An occurrence that still waits for its jitter is submitted now: later its expression is gone.
  let due: StoredTimer = { ...old, jitterMs: 0, lateMs: latestMs(toSchedule(old)) }
  while (due.occurrence !== null && due.occurrence <= timer.now) {
    if (due.fired - timer.fired >= mostDue)
      throw invalid(
        'timer',
        definition.timer,
        `must stay "${timer.timer}" while more than ${mostDue} occurrences of that are due: let a scheduler submit them, or give a lateMs`,
      )
    due = (yield* fireTimer(work, due, batch)).timer
  }
  return definition.maxCount !== null && due.fired >= definition.maxCount
}

/** Finds the first occurrence from now on. @throws TaskError ARGUMENT_INVALID if the timer would never fire */
function begin(timer: Pick<StoredTimer, 'scope' | 'id' | 'fired' | 'now'>, definition: TimerDefinition): After {
  const first = firstOf(toSchedule({ ...timer, ...definition }), timer.now)
  if (!first.next) throw invalid('timer', definition.timer, `must fire some time from now on, and ${first.ended}`)
  checkCount(timer, definition)
  return first
}

function checkCount({ fired }: Pick<StoredTimer, 'fired'>, { maxCount }: TimerDefinition): void {
  if (maxCount !== null && fired >= maxCount)
    throw invalid('maxCount', maxCount, `must be more than the ${fired} times that it has fired`)
}
