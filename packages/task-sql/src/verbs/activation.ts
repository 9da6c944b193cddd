import { checkNames, checkStorable, checkTopic, taskLimits, verbOptions } from '@taskstream/task-api'
import type { Activation, ActivationOptions } from '@taskstream/task-api'
import { raw, sql } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'
import { topicUnknown } from '../core/verb-context.ts'
import type { Context } from '../core/verb-context.ts'
import { present, toNumber } from '../core/task-row.ts'

export function activate(context: Context, topic: string, options: ActivationOptions = {}): Verb<boolean> {
  checkNames(verbOptions.activate, options)
  return store(context, topic, true, options)
}

export function deactivate(context: Context, topic: string, options: ActivationOptions = {}): Verb<boolean> {
  checkNames(verbOptions.deactivate, options)
  return store(context, topic, false, options)
}

export function* activations({ dialect }: Context): Verb<ReadonlyMap<string, Activation>> {
  const rows = yield sql`
    select topic, case when active = ${dialect.expr.true} then 1 else 0 end as active, ${dialect.expr.epochMs(raw('changed'))} as changed, actor, note
      from ${dialect.tables.activation}
     order by topic`
  return new Map(
    rows.map((row) => [
      String(row['topic']),
      {
        active: toNumber(row['active']) === 1,
        changed: new Date(toNumber(row['changed'])),
        ...present('actor', row['actor'], String),
        ...present('note', row['note'], String),
      },
    ]),
  )
}

/** Notifies listeners only of a change, so that two listeners that store the same value do not notify each other for ever. */
function* store({ dialect, now }: Context, topic: string, active: boolean, { actor, note }: ActivationOptions): Verb<boolean> {
  const { activation, topic: topics } = dialect.tables
  checkTopic(topic)
  if (actor !== undefined) checkStorable('actor', actor, taskLimits.actorLength)
  if (note !== undefined) checkStorable('note', note, taskLimits.noteLength)
  // Oracle would store an empty text as null.
  const told = { actor: actor || null, note: note || null }
  const [known] = yield sql`
    select a.active from ${topics} p left join ${activation} a on a.topic = p.topic where p.topic = ${topic}`
  if (!known) throw yield* topicUnknown(dialect, topic)
  const value = active ? dialect.expr.true : dialect.expr.false
  const changed = dialect.expr.now(now())
  const added =
    known['active'] === null &&
    (yield* dialect.writes.touched(
      dialect.writes.insertIfAbsent(activation, { topic, active: value, changed, ...told }, 'topic'),
    ))
  const update = sql`update ${activation} set active = ${value}, changed = ${changed}, actor = ${told.actor}, note = ${told.note} where topic = ${topic} and active <> ${value}`
  if (!added && (yield* dialect.writes.touched(update)) === 0) return false
  for (const statement of dialect.topics.notify(topic)) yield statement
  return true
}
