/** What people have done. */
import { randomBytes } from 'node:crypto'
import {
  checkDuration,
  checkInteger,
  checkNames,
  checkStorable,
  checkText,
  checkTopic,
  taskLimits,
  verbOptions,
} from '@taskstream/task-api'
import type { Action, ActionsOptions, RecordedAction } from '@taskstream/task-api'
import { nothing, raw, sql } from '../core/statement.ts'
import { present, toNumber } from '../core/task-row.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'

export function* record({ dialect, now }: Context, given: Action): Verb<string> {
  checkNames(verbOptions.record, given)
  const { action, topic, actor, via, note, count, filter, sequences, former, undoes } = given
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
  const id = randomBytes(6).toString('hex')
  yield sql`
    insert into ${dialect.tables.audit} (id, made, action, topic, actor, via, note, amount, filter, sequences, former, undoes)
    values (${id}, ${dialect.expr.now(now())}, ${action}, ${topic ?? null}, ${actor || null}, ${via || null}, ${note || null}, ${count},
            ${json(filter)}, ${json(sequences)}, ${json(former)}, ${undoes || null})`
  return id
}

export function* actions({ dialect, now }: Context, options: ActionsOptions = {}): Verb<readonly RecordedAction[]> {
  checkNames(verbOptions.actions, options)
  const { id, topic, withinMs, limit = 100 } = options
  if (id !== undefined) checkText('id', id, 20)
  if (topic !== undefined) checkTopic(topic)
  if (withinMs !== undefined) checkDuration('withinMs', withinMs)
  checkInteger('limit', limit, 1, 10_000)
  const { expr } = dialect
  const after = withinMs === undefined ? nothing : sql` and t.made >= ${expr.plusMs(expr.now(now()), sql`${-withinMs}`)}`
  const rows = yield sql`
    select t.id, ${expr.epochMs(raw('t.made'))} as made, t.action, t.topic, t.actor, t.via, t.note, t.amount, t.filter, t.sequences, t.former, t.undoes
      from ${dialect.tables.audit} t
     where 1 = 1${id === undefined ? nothing : sql` and t.id = ${id}`}${topic === undefined ? nothing : sql` and t.topic = ${topic}`}${after}
     order by t.made desc
     ${expr.limit(sql`${limit}`)}`
  return rows.map(toAction)
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
