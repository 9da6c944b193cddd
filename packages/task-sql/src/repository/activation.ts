import { checkTopic } from '@taskstream/task-api'
import type { Activation } from '@taskstream/task-api'
import { raw, sql } from '../statement.ts'
import type { Verb } from '../transaction.ts'
import { topicUnknown } from './context.ts'
import type { Context } from './context.ts'
import { toNumber } from './row.ts'

export function activate(context: Context, topic: string): Verb<boolean> {
  return store(context, topic, true)
}

export function deactivate(context: Context, topic: string): Verb<boolean> {
  return store(context, topic, false)
}

export function* activations({ dialect }: Context): Verb<ReadonlyMap<string, Activation>> {
  const rows = yield sql`
    select topic, case when active = ${dialect.true} then 1 else 0 end as active, ${dialect.epochMs(raw('changed'))} as changed
      from ${dialect.tables.activation}
     order by topic`
  return new Map(
    rows.map((row) => [
      String(row['topic']),
      { active: toNumber(row['active']) === 1, changed: new Date(toNumber(row['changed'])) },
    ]),
  )
}

/** Only a change is told: who acts on it and says so again makes no circle. */
function* store({ dialect, now }: Context, topic: string, active: boolean): Verb<boolean> {
  const { activation, topic: topics } = dialect.tables
  checkTopic(topic)
  const changed = yield sql`
    insert into ${activation} as a (topic, active, changed)
    select t.topic, ${active ? dialect.true : dialect.false}, ${dialect.now(now())}
      from ${topics} t
     where t.topic = ${topic}
        on conflict (topic) do update set active = excluded.active, changed = excluded.changed
     where a.active <> excluded.active
    returning topic`
  if (changed.length === 0) {
    const known = yield sql`select topic from ${topics} where topic = ${topic}`
    if (known.length === 0) throw topicUnknown(topic)
    return false
  }
  for (const statement of dialect.tellActivation(topic)) yield statement
  return true
}
