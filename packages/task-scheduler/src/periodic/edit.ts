/** Making, changing and removing timers, in the caller's transaction. */
import { invalid, TaskError } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import type { Verb, VerbContext } from '@taskstream/task-sql'
import { assigned, statuses, stored, toSchedule } from './columns.ts'
import type { Status, TimerRow, Values } from './columns.ts'
import { checkPeriodicTask } from './definition.ts'
import type { CheckedTask, Definition } from './definition.ts'
import { firstOf } from './firing.ts'
import type { Firing } from './firing.ts'
import { find, lockOne, nowOf } from './look.ts'
import type { PeriodicTask } from './periodic-task.ts'
import { tell } from './tell.ts'

/** Whose a timer is, and who has declared it. */
export interface Place {
  readonly scope: string
  readonly application?: string
}

/** What scheduling came to. */
export type Scheduled = 'added' | 'changed' | 'unchanged'

/** Adds the timer, or makes the one that is there like it. Only a change of when it fires moves its next occurrence. */
export function* schedule(context: VerbContext, place: Place, task: PeriodicTask): Verb<Scheduled> {
  const checked = checkPeriodicTask(task)
  const there = yield* lockOne(context, place.scope, checked.id)
  if (!there && (yield* insert(context, place, checked))) return 'added'
  // Somebody else has added it in between.
  const row = there ?? (yield* find(context, place.scope, checked.id))
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
  const first = begin(scope, id, definition, now)
  const row = stored(dialect, {
    scope,
    id,
    application: application ?? null,
    ...definition,
    ...waiting(paused ? 'paused' : 'running', first),
    created: now,
    changed: now,
  })
  if ((yield* dialect.touched(dialect.insertUnlessThere(dialect.tables.periodic, row, 'scope, id'))) === 0) return false
  yield* tell(context)
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
  const values: Values = {
    ...definition,
    application,
    changed: row.now,
    ...((retimed || status !== found) && waiting(status, begin(place.scope, id, definition, row.now!, row.fired!))),
  }
  yield sql`
    update ${dialect.tables.periodic} set ${assigned(dialect, values)} where scope = ${place.scope} and id = ${id}`
  yield* tell(context)
  return true
}

/** Whoever says nothing of it leaves a paused timer paused; one that has ended begins again when it gets other times. */
function statusAfter(found: Status, paused: boolean | undefined, retimed: boolean): Status {
  if (paused === undefined ? found === 'paused' : paused) return 'paused'
  return found === 'ended' && !retimed ? 'ended' : 'running'
}

/** What says when a timer fires. */
const timing: ReadonlySet<keyof Definition> = new Set(['timer', 'jitter_ms', 'starts', 'ends', 'max_count'])

/** @throws TaskError ARGUMENT_INVALID if it would never fire */
function begin(scope: string, id: string, definition: Definition, now: number, fired = 0): Firing {
  const row = { ...blank, ...definition, scope, id, fired }
  const first = firstOf(toSchedule(row), now)
  if (!first.next) throw invalid('timer', definition.timer, `must fire some time from now on, and ${first.ended}`)
  if (definition.max_count !== null && fired >= definition.max_count)
    throw invalid('maxCount', definition.max_count, `must be more than the ${fired} times that it has fired`)
  return first
}

const blank = {
  application: null,
  note: null,
  last_topic: null,
  status: 0,
  skipped: 0,
  last_sequence: null,
  occurrence: null,
  due: null,
  last_occurrence: null,
  created: 0,
  changed: 0,
  now: 0,
}

/** Columns that say what a timer waits for: only a running one waits. */
export function waiting(status: Status, { next, ended }: Firing): Values {
  const shown: Status = status === 'running' && !next ? 'ended' : status
  return {
    status: statuses.indexOf(shown),
    note: shown === 'ended' ? (ended ?? null) : null,
    occurrence: shown === 'running' ? next!.occurrence : null,
    due: shown === 'running' ? next!.due : null,
  }
}
