/** What people have done. */
import { randomBytes } from 'node:crypto'
import {
  checkDuration,
  checkGiven,
  checkInteger,
  checkNames,
  checkStorable,
  checkText,
  checkTopic,
  taskLimits,
  TaskError,
  invalid,
  verbOptions,
} from '@taskstream/task-api'
import type { Action, ActionsOptions, PurgeActionsOptions, RecordedAction } from '@taskstream/task-api'
import { nothing, raw, sql } from '../core/statement.ts'
import { present, toNumber } from '../core/task-row.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Dialect } from '../core/dialect.ts'
import type { Context } from '../core/verb-context.ts'

export function* record({ dialect, now }: Context, given: Action): Verb<string> {
  checkNames(verbOptions.record, given)
  const { action, topic, actor, via, note, count, filter, portion, sequences, former, undoes, replaces = false } = given
  checkText('action', action, 20)
  if (topic !== undefined) checkTopic(topic)
  for (const [name, value, most] of [
    ['actor', actor, taskLimits.actorLength],
    ['via', via, 20],
    ['note', note, taskLimits.noteLength],
    ['undoes', undoes, 20],
  ] as const)
    if (value !== undefined) checkStorable(name, value, most)
  checkInteger('count', count, 0, Number.MAX_SAFE_INTEGER)
  const json = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))
  let id = idOf(portion, undoes)
  if (replaces && !undoes) throw invalid('replaces', replaces, 'goes with undoes')
  if (replaces) yield sql`delete from ${dialect.tables.audit} where id = ${id}`
  // The key of what undoes a record is made of its key, so of two transactions that undo it at once the second one waits, and finds it undone.
  const row = {
    made: dialect.expr.now(now()),
    action,
    topic: topic ?? null,
    actor: actor || null,
    via: via || null,
    note: note || null,
    amount: count,
    filter: json(filter),
    sequences: json(sequences),
    former: json(former),
    undoes: undoes || null,
  }
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    if ((yield* dialect.writes.touched(dialect.writes.insertIfAbsent(dialect.tables.audit, { id, ...row }, 'id'))) > 0) return id
    if (!portion) break
    id = `${portion.of}-${yield* freePortion(dialect, portion.of)}`
  }
  if (portion) throw invalid('portion', portion.number, 'is recorded by others all the time')
  throw new TaskError('ACTION_UNDONE', `Action ${undoes} was undone before`, { id: undoes })
}

/** So many others may record a portion of the same action in between. */
const mostAttempts = 20

/** The number of the next portion. Whoever has got no answer to a portion does not know that it was recorded, and goes on with the same number. */
function* freePortion({ tables }: Dialect, of: string): Verb<number> {
  const rows = yield sql`select t.id from ${tables.audit} t where t.id > ${`${of}-`} and t.id < ${`${of}.`}`
  return Math.max(0, ...rows.map((row) => Number(/-(\d+)/.exec(String(row['id']))?.[1]))) + 1
}

const idPattern = /^[0-9a-z]{1,12}(-\d{1,6})?u?$/

function idOf(portion: Action['portion'], undoes: string | undefined): string {
  if (portion && undoes) throw invalid('portion', portion, 'cannot be given together with undoes')
  if (portion) {
    const { of, number } = portion
    checkInteger('the number of a portion', number, 1, 999_999)
    if (!/^[0-9a-z]{1,12}$/.test(of)) throw invalid('the action of a portion', of, 'must be the id of an action')
    return `${of}-${number}`
  }
  if (!undoes) return randomBytes(6).toString('hex')
  if (!idPattern.test(undoes) || undoes.endsWith('u'))
    throw invalid('undoes', undoes, 'must be the id of an action that undoes none')
  return `${undoes}u`
}

export function* actions({ dialect, now }: Context, options: ActionsOptions = {}): Verb<readonly RecordedAction[]> {
  checkNames(verbOptions.actions, options)
  const { id, portions = true, topic, withinMs, details = true, limit = 100 } = options
  if (id !== undefined) checkText('id', id, 20)
  if (topic !== undefined) checkTopic(topic)
  if (withinMs !== undefined) checkDuration('withinMs', withinMs)
  checkInteger('limit', limit, 1, 10_000)
  const { expr } = dialect
  const after = withinMs === undefined ? nothing : sql` and t.made >= ${expr.plusMs(expr.now(now()), sql`${-withinMs}`)}`
  const further = sql` or (t.id > ${`${id}-`} and t.id < ${`${id}.`})`
  const chosen = sql` and (t.id = ${id ?? ''} or t.id = ${`${id}u`}${portions ? further : nothing})`
  const rows = yield sql`
    select t.id, ${expr.epochMs(raw('t.made'))} as made, t.action, t.topic, t.actor, t.via, t.note, t.amount, t.filter, t.undoes,
           ${details ? raw('t.sequences, t.former') : raw('null as sequences, null as former')}
      from ${dialect.tables.audit} t
     where 1 = 1${id === undefined ? nothing : chosen}${topic === undefined ? nothing : sql` and t.topic = ${topic}`}${after}
     order by t.made desc
     ${expr.limit(sql`${limit}`)}`
  return rows.map(toAction)
}

/** All that was recorded up to the instant of the last one that the limit allows. Some databases keep instants more exactly than they are read. */
export function* purgeActions({ dialect, now }: Context, options: PurgeActionsOptions): Verb<number> {
  checkGiven(verbOptions.purgeActions, options)
  const { olderThanMs, limit = 10_000 } = options
  checkDuration('olderThanMs', olderThanMs)
  checkInteger('limit', limit, 1, taskLimits.batchSize)
  const { expr, tables, writes } = dialect
  const found = yield sql`
    select ${expr.epochMs(raw('t.made'))} as made
      from ${tables.audit} t
     where t.made <= ${expr.plusMs(expr.now(now()), sql`${-olderThanMs}`)}
     order by t.made
     ${expr.limit(sql`${limit}`)}`
  const last = found.at(-1)
  if (!last) return 0
  return yield* writes.touched(sql`delete from ${tables.audit} where made < ${expr.instant(sql`${toNumber(last['made']) + 1}`)}`)
}

function toAction(row: Row): RecordedAction {
  const json = (value: unknown): never => JSON.parse(String(value)) as never
  return {
    id: String(row['id']),
    at: new Date(toNumber(row['made'])),
    action: String(row['action']),
    count: toNumber(row['amount']),
    ...present('topic', row['topic'], String),
    ...present('actor', row['actor'], String),
    ...present('via', row['via'], String),
    ...present('note', row['note'], String),
    ...present('undoes', row['undoes'], String),
    ...present('filter', row['filter'], json),
    ...present('sequences', row['sequences'], json),
    ...present('former', row['former'], json),
  }
}
