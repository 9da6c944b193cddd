import { checkTopic } from '@taskstream/task-api'
import { checkSchema } from '../schema/migrate.ts'
import { sql } from '../statement.ts'
import type { Verb } from '../transaction.ts'
import type { Context } from './context.ts'

export function* initialize({ dialect }: Context, topic: string): Verb<boolean> {
  checkTopic(topic)
  yield* checkSchema(dialect)
  const added =
    yield sql`insert into ${dialect.tables.topic} (topic) values (${topic}) on conflict (topic) do nothing returning topic`
  return added.length > 0
}

export function* topics({ dialect }: Context): Verb<string[]> {
  const rows = yield sql`select topic from ${dialect.tables.topic} order by topic`
  return rows.map((row) => String(row['topic']))
}
