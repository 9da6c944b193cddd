/** Adds, changes and removes timers in the caller's transaction. */
import { invalid, TaskError } from '@taskstream/task-api'
import type { StoredTimer, TimerChange, TimerDefinition, TimerStatus } from '@taskstream/task-api'
import { checkPeriodicTask } from './definition.ts'
import type { CheckedTask } from './definition.ts'
import { fireTimer } from './fire.ts'
import { againFrom, fire, firstOf, keep, latestMs, toSchedule, waiting } from './schedule.ts'
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

/** A periodic task that was checked, and what time it was then. */
export interface ReadyTask extends CheckedTask {
  readonly now: number
}

/** Adds a timer, or changes the timer of the same id. An occurrence that is due stays due. */
export function* schedule(work: Work, place: Place, task: PeriodicTask): Steps<Scheduled> {
  return yield* store(work, place, yield* findTopic(work, checkPeriodicTask(task)))
}

/** Finds the topic of a task. @throws TaskError TOPIC_UNKNOWN */
export function* findTopic({ transaction, timers }: Work, checked: CheckedTask): Steps<ReadyTask> {
  return { ...checked, now: yield* answer(timers.now(transaction, checked.definition.topic)) }
}

/** Checks whether `store` would refuse the task, without a lock. @throws TaskError ARGUMENT_INVALID */
export function* checkStored({ transaction, timers }: Work, { scope }: Place, task: ReadyTask): Steps<void> {
  const timer = yield* answer(timers.get(transaction, { scope, id: task.id }))
  if (timer) decide(task, timer)
  else firstOfNew(scope, task)
}

/** Adds or changes the timer of a task. Everything is checked before the first write. */
export function* store(work: Work, place: Place, task: ReadyTask): Steps<Scheduled> {
  let timer = yield* answer(work.timers.lock(work.transaction, { scope: place.scope, id: task.id }))
  if (!timer) {
    if (yield* insert(work, place, task)) return 'added'
    // Another transaction has added the timer in between.
    timer = yield* find(work, place.scope, task.id)
  }
  return (yield* change(work, task, place.application ?? timer.application, timer)) ? 'changed' : 'unchanged'
}

/** @throws TaskError TIMER_DUPLICATE */
export function* add(work: Work, place: Place, task: PeriodicTask): Steps<void> {
  const checked = yield* findTopic(work, checkPeriodicTask(task))
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

function* insert(work: Work, { scope, application }: Place, task: ReadyTask): Steps<boolean> {
  const { transaction, timers } = work
  const { id, paused, definition, now } = task
  const first = firstOfNew(scope, task)
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

/** Finds the first occurrence of a new timer. @throws TaskError ARGUMENT_INVALID if the timer would never fire */
function firstOfNew(scope: string, { id, now, definition }: ReadyTask): After {
  // mutants: equivalent property `fired: 0`, a new timer may fire once at least
  return begin({ scope, id, fired: 0, now, lastOccurrence: null }, definition)
}

function* change(work: Work, task: CheckedTask, application: string | null, timer: StoredTimer): Steps<boolean> {
  const { transaction, timers } = work
  const { differs, wait, due } = decide(task, timer)
  if (!differs && application === timer.application) return false
  const isOver = due !== undefined && (yield* submitDue(work, due))
  const values: TimerChange = { ...task.definition, application, changed: timer.now, ...(!isOver && wait) }
  yield* answer(timers.change(transaction, timer, values))
  yield* answer(timers.notify(transaction))
  return true
}

/** What becomes of a timer. */
interface Edit {
  readonly differs: boolean
  /** What the timer waits for afterwards. Empty if that stays as it is. */
  readonly wait: TimerChange
  /** The timer as its old expression has left it due: these occurrences are submitted with the change. */
  readonly due?: StoredTimer
}

/** Decides what a timer's new definition makes of it, before anything is written. @throws TaskError ARGUMENT_INVALID */
function decide({ definition, paused }: CheckedTask, timer: StoredTimer): Edit {
  const other = (Object.keys(definition) as (keyof TimerDefinition)[]).filter((key) => definition[key] !== timer[key])
  const retimed = other.some((key) => timing.has(key))
  const found = timer.status
  const status = statusAfter(found, paused, retimed)
  const differs = other.length > 0 || status !== found
  if (!retimed && status === found) return { differs, wait: {} }
  if (found === 'running' && status === 'running') return { differs, ...goOn(definition, timer) }
  return { differs, wait: waiting(status, begin(timer, definition)) }
}

/** A paused timer stays paused if `paused` is not given. An ended timer runs again if its times change. */
function statusAfter(found: TimerStatus, paused: boolean | undefined, retimed: boolean): TimerStatus {
  if (paused === undefined ? found === 'paused' : paused) return 'paused'
  return found === 'ended' && !retimed ? 'ended' : 'running'
}

/** The fields that decide when a timer fires. */
const timing: ReadonlySet<keyof TimerDefinition> = new Set(['timer', 'jitterMs', 'start', 'end', 'maxCount'])

/** Finds the next occurrence of a running timer whose times change. @throws TaskError ARGUMENT_INVALID */
function goOn(definition: TimerDefinition, timer: StoredTimer): Omit<Edit, 'differs'> {
  const { start } = definition
  const isDue = timer.occurrence! <= timer.now
  const isWanted = isDue ? start === null || start <= timer.occurrence! : start === timer.start
  if (isWanted && definition.timer === timer.timer) {
    checkCount(timer, definition)
    const kept = keep(toSchedule({ ...timer, ...definition }), timer.occurrence!)
    if (kept.next) return { wait: waiting('running', kept) }
  }
  const wait = waiting('running', begin(timer, definition))
  return isDue && isWanted && definition.timer !== timer.timer ? { wait, due: leftDue(definition, timer) } : { wait }
}

/** The most occurrences for one transaction. More are left to a scheduler, which takes several transactions. */
const mostDue = 10_000
const batch = 1_000

/**
 * The timer under its old expression, whose due occurrences its new expression does not have. The timer's new policies decide which are submitted.
 *
 * @throws TaskError ARGUMENT_INVALID if they are too many for one transaction
 */
function leftDue(definition: TimerDefinition, timer: StoredTimer): StoredTimer {
  const old = { ...timer, ...definition, timer: timer.timer, jitterMs: timer.jitterMs }
  // An occurrence that still waits for its jitter is submitted now: later its expression is gone.
  const due: StoredTimer = { ...old, jitterMs: 0, lateMs: latestMs(toSchedule(old)) }
  // Where tasks wait for each other, one is submitted, and the others are passed over.
  if (due.whileUnfinished === 'push' && hasMoreThan(mostDue, due))
    throw invalid(
      'timer',
      definition.timer,
      `must stay "${timer.timer}" while more than ${mostDue} occurrences of that are due: let a scheduler submit them, or give a lateMs`,
    )
  return due
}

/** Tells whether a timer without jitter would submit more than so many occurrences now. */
function hasMoreThan(most: number, timer: StoredTimer): boolean {
  const schedule = toSchedule(timer)
  let count = 0
  let occurrence: number | undefined = timer.occurrence!
  while (occurrence !== undefined && occurrence <= timer.now) {
    if (count >= most) return true
    const { submit, next } = fire({ ...schedule, fired: timer.fired + count }, occurrence, timer.now, most - count)
    count += submit.length
    occurrence = next?.occurrence
  }
  return false
}

/** Submits the occurrences that are due. @returns whether the timer has reached its `maxCount` */
function* submitDue(work: Work, timer: StoredTimer): Steps<boolean> {
  let due = timer
  while (due.occurrence !== null && due.occurrence <= due.now) due = (yield* fireTimer(work, due, batch)).timer
  return due.maxCount !== null && due.fired >= due.maxCount
}

/** Finds the first occurrence from now on. @throws TaskError ARGUMENT_INVALID if the timer would never fire */
function begin(
  timer: Pick<StoredTimer, 'scope' | 'id' | 'fired' | 'now' | 'lastOccurrence'>,
  definition: TimerDefinition,
): After {
  const first = firstOf(toSchedule({ ...timer, ...definition }), againFrom(timer))
  if (!first.next) throw invalid('timer', definition.timer, `must fire some time from now on, and ${first.ended}`)
  checkCount(timer, definition)
  return first
}

function checkCount({ fired }: Pick<StoredTimer, 'fired'>, { maxCount }: TimerDefinition): void {
  if (maxCount !== null && fired >= maxCount)
    throw invalid('maxCount', maxCount, `must be more than the ${fired} times that it has fired`)
}
