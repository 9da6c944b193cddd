/** Finding timers. */
import { checkNames, checkText, optionNames, TaskError } from '@taskstream/task-api'
import { nothing, sql } from '@taskstream/task-sql'
import type { Statement, Verb, VerbContext } from '@taskstream/task-sql'
import { columnsOf, toInfo, toRow } from './columns.ts'
import type { TimerRow } from './columns.ts'
import { periodicLimits } from './definition.ts'
import type { PeriodicTaskInfo } from './periodic-task.ts'

/** Which timers are meant: those that meet everything that is given. */
export interface PeriodicFilter {
  readonly name?: string
  readonly application?: string
}

const names = optionNames<PeriodicFilter>('list', { name: true, application: true })

export function* get(context: VerbContext, scope: string, id: string): Verb<PeriodicTaskInfo | undefined> {
  checkText('id', id, periodicLimits.nameLength)
  const [row] = yield select(context, sql`t.scope = ${scope} and t.id = ${id}`)
  return row && toInfo(toRow(row))
}

/** @param scope none: of every scope */
export function* list(context: VerbContext, scope: string | undefined, filter: PeriodicFilter = {}): Verb<PeriodicTaskInfo[]> {
  checkNames(names, filter)
  const { name, application } = filter
  const rows = yield select(
    context,
    sql`1 = 1${scope === undefined ? nothing : sql` and t.scope = ${scope}`}${name === undefined ? nothing : sql` and t.name = ${name}`}${
      application === undefined ? nothing : sql` and t.application = ${application}`
    }
     order by t.scope, t.id`,
  )
  return rows.map((row) => toInfo(toRow(row)))
}

/** Locks the row until the transaction ends. */
export function* lockOne(context: VerbContext, scope: string, id: string): Verb<TimerRow | undefined> {
  // mutants: equivalent string, what is not to be skipped is waited for
  const [row] = yield* lock(context, sql`t.scope = ${scope} and t.id = ${id}`, 'wait')
  return row
}

/** As `lockOne`. @throws TaskError TIMER_UNKNOWN */
export function* find(context: VerbContext, scope: string, id: string): Verb<TimerRow> {
  checkText('id', id, periodicLimits.nameLength)
  const row = yield* lockOne(context, scope, id)
  if (row) return row
  throw new TaskError('TIMER_UNKNOWN', `There is no timer "${id}" in the scope "${scope}": list shows which there are`, {
    scope,
    id,
  })
}

/** The time by the database's clock, in epoch milliseconds. @throws TaskError TOPIC_UNKNOWN */
export function* nowOf({ dialect, now }: VerbContext, topic: string): Verb<number> {
  const [row] = yield sql`
    select ${dialect.expr.epochMs(dialect.expr.now(now()))} as now from ${dialect.tables.topic} where topic = ${topic}`
  if (row) return Number(row['now'])
  throw new TaskError('TOPIC_UNKNOWN', `Topic "${topic}" was never initialised: call initialize(transaction, "${topic}") once`, {
    topic,
  })
}

/** Locks rows `t` until the transaction ends: waits for others, or passes over what they have locked. */
export function* lock({ dialect, now }: VerbContext, which: Statement, locked: 'wait' | 'skip'): Verb<TimerRow[]> {
  return (yield* dialect.locks.periodic(which, locked, columnsOf(dialect, now()))).map(toRow)
}

function select({ dialect, now }: VerbContext, which: Statement): Statement {
  return sql`select ${columnsOf(dialect, now())} from ${dialect.tables.periodic} t where ${which}`
}
