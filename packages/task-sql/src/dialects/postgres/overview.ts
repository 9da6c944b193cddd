import type { Claims, OpenState } from '../../core/dialect.ts'
import { stages, states } from '../../core/states.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { PostgresTables } from './tables.ts'
import { inTopic, ready } from './topic.ts'
import { firstOf } from './claim-ledger.ts'
import { fresh as isFresh, frontierOf, keepsOutcomes, rangeStates } from './ranges/range-states.ts'

/**
 * Counts open tasks of the topic `p` without reading ended ones. A plain topic has fresh rows above the persisted low watermark, and
 * listed rows; other orders have listed rows only. Under a condition blocked rows are not listed, so an index finds all open rows.
 * PostgreSQL does not run the branches that the topic's row rules out.
 */
export function postgresOverview(
  tables: PostgresTables,
  blockedUntil: Statement,
): Pick<Claims, 'countOpen' | 'oldestReady' | 'firstReady'> {
  const { task, holding } = tables
  const { fresh, listed, open } = readyRows(tables, raw('p.topic'), floorOf(tables))
  const first = (where: Statement): Statement =>
    sql`(select t.created from ${task} t where ${where} order by t.topic, t.sequence limit 1)`
  // Because of the limit, the planner reads an index in order and stops early.
  const inOrder = (where: Statement, limit: number, column = raw('1')): Statement =>
    sql`(select ${column} from ${task} t where ${where} order by t.topic, t.sequence limit ${limit}::int8)`
  const sequence = raw('t.sequence')
  const rows = (state: OpenState, limit: number): Statement => {
    if (state === 'delayed')
      return sql`select 1 from ${task} t where t.topic = p.topic and t.due < ${blockedUntil} and t.state = ${states.suspended}`
    if (state === 'ready')
      return sql`${inOrder(fresh, limit)} union all ${inOrder(listed, limit)} union all ${inOrder(open, limit)}`
    // With statistics the planner would read the whole table for each chunk, if it had the choice: hardly any row is active.
    return sql`
      select 1
        from (select distinct h.owner, h.chunk from ${holding} h where h.topic = p.topic) noted,
             lateral (select 1
                        from ${task} t
                       where ${inTopic(tables, raw('p.topic'), firstOf('noted.chunk'), firstOf('noted.chunk + 1'))}
                         and coalesce(t.state = ${states.active} and t.owner = noted.owner, false)
                         and (p.listing or not t.listed)
                       order by t.topic, t.sequence
                       limit ${limit}::int8) held
      union all
      (select 1
         from ${task} t
        where ${inTopic(tables, raw('p.topic'))} and t.listed and coalesce(t.state = ${states.active}, false) and not p.listing
        order by t.topic, t.sequence
        limit ${limit}::int8)
      union all
      select 1
        from (select r.lo, r.hi from ${tables.range} r where r.topic = p.topic and r.state = ${rangeStates.active} and ${keepsOutcomes}) r,
             lateral (select 1
                        from ${task} t
                       where ${inTopic(tables, raw('p.topic'), raw('(r.lo - 1)'), raw('(r.hi + 1)'))} and ${isFresh}
                       order by t.topic, t.sequence
                       limit ${limit}::int8) held`
  }
  return {
    countOpen: (state, limit) => sql`(select count(*) from (${rows(state, limit)} limit ${limit}) found)`,
    firstReady: (topic, limit) => sql`
      select found.sequence
        from ${tables.topic} p,
             lateral (${inOrder(fresh, limit, sequence)} union all ${inOrder(listed, limit, sequence)} union all ${inOrder(open, limit, sequence)}) found
       where p.topic = ${topic}
       order by found.sequence
       limit ${limit}::int8`,
    oldestReady: sql`
      (select min(found.created) from (${first(fresh)} union all ${first(listed)} union all ${first(open)}) found)`,
  }
}

/** The number behind which fresh rows of the topic `p` are. */
function floorOf(tables: PostgresTables, floor: Statement = raw('p.floor')): Statement {
  return sql`case when ${keepsOutcomes} then ${frontierOf(tables, raw('p.topic'))} else ${floor} end`
}

/** Conditions for the ready rows `t` of the topic `p`: its fresh rows above a low watermark, its listed rows, and its open ones. */
export function readyRows(
  tables: PostgresTables,
  topic: Statement,
  floor: Statement,
): { readonly fresh: Statement; readonly listed: Statement; readonly open: Statement } {
  return {
    fresh: sql`${inTopic(tables, topic, floor)} and not t.listed and ${ready} and (not p.listing or ${keepsOutcomes})`,
    listed: sql`${inTopic(tables, topic)} and t.listed and ${ready} and p.stage is distinct from ${stages.open}`,
    open: sql`${inTopic(tables, topic)} and coalesce(t.stage = ${stages.open}, false) and ${ready}`,
  }
}
