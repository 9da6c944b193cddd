/** Making, changing and removing timers, in the caller's transaction. */
import { invalid, TaskError } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import type { Verb, VerbContext } from '@taskstream/task-sql'
import { assigned, statuses, stored, toSchedule } from './columns.ts'
import type { Status, TimerRow, Values } from './columns.ts'
import { checkPeriodicTask } from './definition.ts'
import type { CheckedTask, Definition } from './definition.ts'
import { fireTimer } from './fire-timer.ts'
import { firstOf, keep, latestMs } from './firing.ts'
import type { Firing } from './firing.ts'
import { find, lockOne, nowOf } from './look.ts'
import type { PeriodicTask } from './periodic-task.ts'
import { notifySchedulers } from './notify.ts'
import { waiting } from './waiting.ts'

/** Whose a timer is, and who has declared it. */
export interface Place {
  readonly scope: string
  readonly application: string | null
}

/** What scheduling came to. */
export type Scheduled = 'added' | 'changed' | 'unchanged'

/** Adds the timer, or makes the one that is there like it. What is due stays due. */
export function* schedule(context: VerbContext, place: Place, task: PeriodicTask): Verb<Scheduled> {
  const checked = checkPeriodicTask(task)
  let row = yield* lockOne(context, place.scope, checked.id)
  if (!row) {
    if (yield* insert(context, place, checked)) return 'added'
    // Somebody else has added it in between.
    row = yield* find(context, place.scope, checked.id)
  }
  return (yield* change(context, place, checked, row, task.paused)) ? 'changed' : 'unchanged'
}

/** @throws TaskError TIMER_DUPLICATE */
export function* add(context: VerbContext, place: Place, task: PeriodicTask): Verb<void> {
  const checked = checkPeriodicTask(task)
  if (yield* insert(context, place, checked)) return
  throw new TaskError(
    'TIMER_DUPLICATE',
    `There is a timer "${checked.id}" in the scope "${place.scope}" already: schedule changes it, or give this one an id of its own`,
    { scope: place.scope, id: checked.id },
  )
}

/** @throws TaskError TIMER_UNKNOWN */
export function* remove(context: VerbContext, scope: string, id: string): Verb<void> {
  const { dialect } = context
  const { scope: foundScope, id: foundId } = yield* find(context, scope, id)
  yield sql`delete from ${dialect.tables.periodic} where scope = ${foundScope} and id = ${foundId}`
}

function* insert(context: VerbContext, { scope, application }: Place, { id, paused, definition }: CheckedTask): Verb<boolean> {
  const { dialect } = context
  const now = yield* nowOf(context, definition.topic)
  // mutants: equivalent property `fired: 0`, a new timer may fire once at least
  const first = begin({ scope, id, fired: 0, now }, definition)
  const row = stored(dialect, {
    scope,
    id,
    application,
    ...definition,
    ...waiting(paused ? 'paused' : 'running', first),
    created: now,
    changed: now,
  })
  if ((yield* dialect.writes.touched(dialect.writes.insertIfAbsent(dialect.tables.periodic, row, 'scope, id'))) === 0)
    return false
  yield* notifySchedulers(context)
  return true
}

function* change(
  context: VerbContext,
  place: Place,
  { id, definition }: CheckedTask,
  row: TimerRow,
  paused: boolean | undefined,
): Verb<boolean> {
  const { dialect } = context
  const other = (Object.keys(definition) as (keyof Definition)[]).filter((key) => definition[key] !== row[key])
  const retimed = other.some((key) => timing.has(key))
  const found = statuses[row.status!]!
  const status = statusAfter(found, paused, retimed)
  const application = place.application ?? row.application
  if (other.length === 0 && application === row.application && status === found) return false
  const runs = found === 'running' && status === 'running'
  const begins = retimed || status !== found
  const values: Values = {
    ...definition,
    application,
    changed: row.now,
    ...(begins && (runs ? yield* goOn(context, definition, row) : waiting(status, begin(row, definition)))),
  }
  yield sql`
    update ${dialect.tables.periodic} set ${assigned(dialect, values)} where scope = ${place.scope} and id = ${id}`
  yield* notifySchedulers(context)
  return true
}

/** Whoever says nothing of it leaves a paused timer paused; one that has ended begins again when it gets other times. */
function statusAfter(found: Status, paused: boolean | undefined, retimed: boolean): Status {
  if (paused === undefined ? found === 'paused' : paused) return 'paused'
  return found === 'ended' && !retimed ? 'ended' : 'running'
}

/** What says when a timer fires. */
const timing: ReadonlySet<keyof Definition> = new Set(['timer', 'jitter_ms', 'starts', 'ends', 'max_count'])

/** What a running timer waits for when its times are changed. @throws TaskError ARGUMENT_INVALID */
function* goOn(context: VerbContext, definition: Definition, row: TimerRow): Verb<Values> {
  const { starts, timer } = definition
  const isDue = row.occurrence! <= row.now!
  const isWanted = isDue ? starts === null || starts <= row.occurrence! : starts === row.starts
  if (isWanted && timer === row.timer) {
    checkCount(row, definition)
    const kept = keep(toSchedule({ ...row, ...definition }), row.occurrence!)
    if (kept.next) return waiting('running', kept)
  }
  const first = begin(row, definition)
  const isOver = isDue && isWanted && timer !== row.timer && (yield* submitDue(context, definition, row))
  return isOver ? {} : waiting('running', first)
}

/** More is for a scheduler, which does not do it all in one transaction. */
const mostDue = 10_000
const batch = 1_000

/**
 * Submits what a timer's old expression has left due, by its policies as they are to be: its new one does not know of it.
 *
 * @returns whether it has fired as often as it may @throws TaskError ARGUMENT_INVALID if that is too much for one transaction
 */
function* submitDue(context: VerbContext, definition: Definition, row: TimerRow): Verb<boolean> {
  const old = { ...row, ...definition, timer: row.timer, jitter_ms: row.jitter_ms }
  // What waits for its jitter only would be lost: there is nobody to wait for it.
  let due: TimerRow = { ...old, jitter_ms: 0, late_ms: latestMs(toSchedule(old)) }
  while (due.occurrence !== null && due.occurrence <= row.now!) {
    if (due.fired! - row.fired! >= mostDue)
      throw invalid(
        'timer',
        definition.timer,
        `must stay "${row.timer}" while more than ${mostDue} occurrences of that are due: let a scheduler submit them, or give a lateMs`,
      )
    due = (yield* fireTimer(context, due, batch)).row
  }
  return definition.max_count !== null && due.fired! >= definition.max_count
}

/** @throws TaskError ARGUMENT_INVALID if it would never fire */
function begin(row: Pick<TimerRow, 'scope' | 'id' | 'fired' | 'now'>, definition: Definition): Firing {
  const first = firstOf(toSchedule({ ...row, ...definition }), row.now!)
  if (!first.next) throw invalid('timer', definition.timer, `must fire some time from now on, and ${first.ended}`)
  checkCount(row, definition)
  return first
}

function checkCount({ fired }: Pick<TimerRow, 'fired'>, { max_count: maxCount }: Definition): void {
  if (maxCount !== null && fired! >= maxCount)
    throw invalid('maxCount', maxCount, `must be more than the ${fired} times that it has fired`)
}
