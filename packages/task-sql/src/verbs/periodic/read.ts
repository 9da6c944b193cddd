/** Finding and locking timers, and finding tasks of a timer that have not ended. */
import type { NoTimerDue, StoredTimer, TimerFilter, TimerKey, TimerStatus } from '@taskstream/task-api'
import { stateNumber, timerKey, timerStatuses } from '@taskstream/task-api'
import type { Selection } from '../../core/requests.ts'
import { join, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import { toNumber } from '../../core/task-row.ts'
import { databaseTime } from '../../core/database-time.ts'
import { topicUnknown } from '../../core/verb-context.ts'
import type { Context } from '../../core/verb-context.ts'
import type { Verb } from '../../core/verb.ts'
import { toTimer } from './columns.ts'

export function* now({ dialect, now: clock }: Context, topic: string): Verb<number> {
  const [row] = yield sql`
    select ${dialect.expr.epochMs(dialect.expr.now(clock()))} as now from ${dialect.tables.topic} where topic = ${topic}`
  if (!row) throw yield* topicUnknown(dialect, topic)
  return toNumber(row['now'])
}

/** How many due timers are read at first. If others have locked all of them, so many times as many are read. */
// mutants: equivalent number, one more or less is as good
const candidates = 16

export function* lockDue(context: Context, without: ReadonlySet<string>): Verb<StoredTimer | NoTimerDue> {
  const { expr, tables } = context.dialect
  const instant = expr.now(context.now())
  const locked = new Set<string>()
  for (let size = candidates + without.size; ; size *= candidates) {
    const rows = yield sql`
      select t.scope, t.id, ${expr.epochMs(raw('t.due'))} as due, ${expr.epochMs(instant)} as now
        from ${tables.periodic} t
       where t.due is not null
       order by t.due
       ${expr.limit(sql`${size}`)}`
    const timers = rows.map((row) => ({
      scope: String(row['scope']),
      id: String(row['id']),
      afterMs: toNumber(row['due']) - toNumber(row['now']),
    }))
    const wanted = timers.filter((timer) => !without.has(timerKey(timer)))
    const due = wanted.filter(({ afterMs }) => afterMs <= 0)
    if (due.length === 0) return { outcome: 'idle', ...(wanted[0] && { afterMs: wanted[0].afterMs }) }
    // mutants: equivalent method, they are asked for in vain once more
    for (const key of due.filter((timer) => !locked.has(timerKey(timer)))) {
      // The condition is checked again, as another scheduler may have fired the timer meanwhile.
      const [timer] = yield* lockRows(context, sql`${isKey(key)} and t.due is not null and t.due <= ${instant}`, 'skip')
      if (timer) return timer
      // mutants: equivalent statement, they are asked for in vain once more
      locked.add(timerKey(key))
    }
    // Timers beyond those that were read may be due too, and free.
    if (timers.length < size || due.length < wanted.length) return { outcome: 'busy' }
  }
}

export function* lock(context: Context, key: TimerKey): Verb<StoredTimer | undefined> {
  const [timer] = yield* lockNow(context, isKey(key))
  return timer
}

export function lockAll(context: Context, scope: string, status: TimerStatus): Verb<StoredTimer[]> {
  return lockNow(context, sql`t.scope = ${scope} and t.status = ${timerStatuses.indexOf(status)}`)
}

/** A statement's clock stands while it waits for a lock, and whoever had it may have fired later occurrences. So the time is read after it. */
function* lockNow(context: Context, which: Statement): Verb<StoredTimer[]> {
  const timers = yield* lockRows(context, which, 'wait')
  if (timers.length === 0) return timers
  const now = yield* databaseTime(context.dialect, context.now())
  return timers.map((timer) => ({ ...timer, now }))
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
  const rows = yield select(
    context,
    sql`1 = 1${join(filters, '')}
     order by t.scope, t.id`,
  )
  return rows.map(toTimer)
}

function* lockRows(context: Context, which: Statement, locked: Selection['locked']): Verb<StoredTimer[]> {
  return (yield* context.dialect.locks.periodic(which, locked, columnsOf(context))).map(toTimer)
}

function select(context: Context, which: Statement): Statement {
  return sql`select ${columnsOf(context)} from ${context.dialect.tables.periodic} t where ${which}`
}

/** The columns of a timer's row `t`, and the current time. */
function columnsOf({ dialect, now: clock, timerColumns }: Context): Statement {
  return sql`${timerColumns}, ${dialect.expr.epochMs(dialect.expr.now(clock()))} as now`
}

function isKey({ scope, id }: TimerKey): Statement {
  return sql`t.scope = ${scope} and t.id = ${id}`
}

/** The states of tasks that have not ended. A suspended task counts, because somebody may still revive it. */
const open = raw((['active', 'ready', 'expired', 'suspended'] as const).map(stateNumber).join(', '))

/** How many of a timer's latest tasks in a topic are read. A timer's history may be long, and no index has only its open tasks. */
// mutants: equivalent number, one more or less is as good
const latest = 1_000

/** The latest task of a timer that has not ended. It is found by the tasks' references, as the timer's row remembers only the last task. */
export function* unfinished({ dialect }: Context, topic: string, reference: string): Verb<number | undefined> {
  // mutants: equivalent sql-boundary `external_id >`, no instant is empty
  // mutants: equivalent sql-boundary `external_id <`, no instant is a tilde
  // The range also has the tasks of timers whose ids begin with this one's: the reference excludes them.
  const [task] = yield sql`
    select o.sequence
      from (select t.sequence, t.state, t.reference
              from ${dialect.tables.task} t
             where t.topic = ${topic} and t.external_id > ${`${reference}@`} and t.external_id < ${`${reference}@~`}
             order by t.external_id desc
             ${dialect.expr.limit(sql`${latest}`)}) o
     where o.reference = ${reference} and o.state in (${open})
     ${dialect.expr.limit(sql`${1}`)}`
  return task && toNumber(task['sequence'])
}
