import type { Dialect } from '../dialect.ts'
import { raw, sql } from '../statement.ts'
import type { Statement } from '../statement.ts'
import type { PostgresTables } from '../schema/postgres-tables.ts'
import { ready } from './postgres-claim.ts'
import { chunkBits } from './postgres-holdings.ts'

/**
 * What is open in the topic `p`, without reading what has ended: fresh rows above the persisted floor, listed rows, and under a
 * condition, where rows are taken off the list, the index of open rows. A topic has either fresh rows or listed ones from the
 * start, so that the other branches are never run.
 */
export function postgresOverview({ task, holding }: PostgresTables): Pick<Dialect, 'openRows' | 'oldestReady'> {
  const fresh = sql`t.topic = p.topic and not t.listed and ${ready} and t.sequence > p.floor and not p.listing`
  const listed = sql`t.topic = p.topic and t.listed and ${ready} and p.stage is distinct from 1`
  const open = sql`t.topic = p.topic and coalesce(t.stage = 1, false) and t.state = 1`
  const first = (where: Statement): Statement => sql`(select t.created from ${task} t where ${where} order by t.sequence limit 1)`
  return {
    openRows: (state) =>
      state === 'ready'
        ? sql`
            select 1 from ${task} t where ${fresh}
            union all
            select 1 from ${task} t where ${listed}
            union all
            select 1 from ${task} t where ${open}`
        : sql`
            select 1
              from (select distinct h.owner, h.chunk from ${holding} h where h.topic = p.topic) noted
              join ${task} t
                on t.topic = p.topic
               and t.sequence >= noted.chunk << ${raw(String(chunkBits))}
               and t.sequence < (noted.chunk + 1) << ${raw(String(chunkBits))}
               and t.state = 0
               and t.owner = noted.owner
               and not t.listed
            union all
            select 1 from ${task} t where t.topic = p.topic and t.listed and t.state = 0`,
    oldestReady: sql`${first(fresh)} union all ${first(listed)} union all ${first(open)}`,
  }
}
