/** Pushes into topics that keep outcomes. */
import type { TaskInsertion } from '../../../core/requests.ts'
import { nothing, raw, sql } from '../../../core/statement.ts'
import type { Statement } from '../../../core/statement.ts'
import type { PostgresTables } from '../tables.ts'
import { blockSize, frontierOf, keepsOutcomes } from './range-states.ts'

/**
 * An insert into a topic that keeps outcomes. The statement draws a block of numbers for each 1024 tasks. If a block is not above the frontier, because
 * somebody has set the sequence back, its tasks are listed: nobody looks for fresh ones there.
 */
export function numberedInsert(tables: PostgresTables, channel: string, wakes: boolean, insertion: TaskInsertion): Statement {
  const { topic, columns, values, from, where, orderBy, count } = insertion
  const order = orderBy ? sql`order by ${orderBy}` : nothing
  const nth = count === 1 ? raw('0') : sql`(pg_catalog.row_number() over (${order}) - 1)`
  const blocks = Math.ceil(count / blockSize)
  const first = blocks === 1 ? raw('started.drawn') : sql`started.firsts[(${nth} / ${raw(String(blockSize))} + 1)::int4]`
  const place = blocks === 1 ? nth : sql`${nth} % ${raw(String(blockSize))}`
  return sql`
      with drawn as materialized (select ${raw(tables.schema)}.task_blocks_draw(${topic}, ${blocks}::int4) as firsts${wakes ? sql`, pg_catalog.pg_notify(${channel}, ${topic})` : nothing}),
      started as materialized (select d.firsts, d.firsts[1] as drawn from drawn d)
      insert into ${tables.task} (sequence, ${columns})
      select ${first} + ${place}, ${values}
        from started,
             (select p.topic, p.ordering, p.condition, false as listing, p.ranking, p.stage, ${frontierOf(tables, raw('p.topic'))} + 1 as floor
                from ${tables.topic} p
               where ${keepsOutcomes}) p, ${from}
       where p.topic = ${topic} and started.firsts is not null${where ? sql` and ${where}` : nothing}${orderBy ? sql` ${order}` : nothing}`
}
