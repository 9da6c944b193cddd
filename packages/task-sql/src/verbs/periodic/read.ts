/** Finding timers, and locking them. */
import type { StoredTimer, TimerFilter, TimerKey, TimerStatus, UpcomingTimer } from '@taskstream/task-api'
import { timerStatuses } from '@taskstream/task-api'
import type { Selection } from '../../core/requests.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import { toNumber } from '../../core/task-row.ts'
import { topicUnknown } from '../../core/verb-context.ts'
import type { Context } from '../../core/verb-context.ts'
import type { Verb } from '../../core/verb.ts'
import { columnsOf, toTimer } from './columns.ts'

export function* now({ dialect, now: clock }: Context, topic: string): Verb<number> {
  const [row] = yield sql`
    select ${dialect.expr.epochMs(dialect.expr.now(clock()))} as now from ${dialect.tables.topic} where topic = ${topic}`
  if (!row) throw yield* topicUnknown(dialect, topic)
  return toNumber(row['now'])
}

export function* upcoming({ dialect, now: clock }: Context, limit: number): Verb<UpcomingTimer[]> {
  const { expr, tables } = dialect
  const rows = yield sql`
    select t.scope, t.id, ${expr.epochMs(raw('t.due'))} as due, ${expr.epochMs(expr.now(clock()))} as now
      from ${tables.periodic} t
     where t.due is not null
     order by t.due
     ${expr.limit(sql`${limit}`)}`
  return rows.map((row) => ({
    scope: String(row['scope']),
    id: String(row['id']),
    afterMs: toNumber(row['due']) - toNumber(row['now']),
  }))
}

export function* lockDue(context: Context, key: TimerKey): Verb<StoredTimer | undefined> {
  const due = sql`t.due is not null and t.due <= ${context.dialect.expr.now(context.now())}`
  // What another one has fired meanwhile is not due any more.
  const [timer] = yield* lockRows(context, sql`${isKey(key)} and ${due}`, 'skip')
  return timer
}

export function* lock(context: Context, key: TimerKey): Verb<StoredTimer | undefined> {
  // mutants: equivalent string, what is not to be skipped is waited for
  const [timer] = yield* lockRows(context, isKey(key), 'wait')
  return timer
}

export function lockAll(context: Context, scope: string, status: TimerStatus): Verb<StoredTimer[]> {
  // mutants: equivalent string, what is not to be skipped is waited for
  return lockRows(context, sql`t.scope = ${scope} and t.status = ${timerStatuses.indexOf(status)}`, 'wait')
}

export function* get(context: Context, key: TimerKey): Verb<StoredTimer | undefined> {
  const [row] = yield select(context, isKey(key))
  return row && toTimer(row)
}

export function* list(context: Context, { scope, name, application }: TimerFilter): Verb<StoredTimer[]> {
  const filters = [
    ...(scope === undefined ? [] : [sql` and t.scope = ${scope}`]),
    ...(name === undefined ? [] : [sql` and t.name = ${name}`]),
    ...(application === undefined ? [] : [sql` and t.application = ${application}`]),
  ]
  const which = filters.reduce((all, filter) => sql`${all}${filter}`, nothing)
  const rows = yield select(
    context,
    sql`1 = 1${which}
     order by t.scope, t.id`,
  )
  return rows.map(toTimer)
}

function* lockRows({ dialect, now: clock }: Context, which: Statement, locked: Selection['locked']): Verb<StoredTimer[]> {
  return (yield* dialect.locks.periodic(which, locked, columnsOf(dialect, clock()))).map(toTimer)
}

function select({ dialect, now: clock }: Context, which: Statement): Statement {
  return sql`select ${columnsOf(dialect, clock())} from ${dialect.tables.periodic} t where ${which}`
}

function isKey({ scope, id }: TimerKey): Statement {
  return sql`t.scope = ${scope} and t.id = ${id}`
}
