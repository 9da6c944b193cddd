/**
 * B: no index mentions STATE. A process-wide hint (the highest sequence it has claimed) bounds the scan; a settled
 * floor, moved by a tick of its own every second, is where a short poll starts again.
 */
import type { ClientBase } from 'pg'
import type { Claim, Layout, Poller } from './layout.ts'
import { createTables, sequencesOf } from './layout.ts'
import { complete, completeStatement, endless, pushStatement, resetStatement, run, sorted } from './statements.ts'

const name = 'hot-ticked'
const tickMs = 1000
const push = pushStatement(name, { xidFirst: true })
const completion = completeStatement(name, { unlist: true })
const reset = resetStatement(name, { list: true })
const poll = {
  name: `${name} poll`,
  text: `
    with r as materialized (
      select ctid from task where topic = $1 and listed and state = 1 and sequence > 0 and sequence <= ${endless}
       order by sequence limit $2 for update skip locked),
    f as materialized (
      select ctid from task where topic = $1 and state = 1 and sequence > $4::bigint and sequence <= ${endless} and not listed order by sequence
       limit $2 - (select count(*) from r) for update skip locked)
    update task as t
       set state = 0, owner = $3, attempt = attempt + 1, tries = tries + 1, started = statement_timestamp()
     where t.ctid = any(array(select ctid from r union all select ctid from f)) and t.state + 0 = 1
    returning t.sequence, t.attempt, t.identifier, t.input`,
}
const expire = {
  name: `${name} expire`,
  text: `
    with held as materialized (
      select sequence from task where topic = $1 and state = 0 and owner = $2 order by sequence for update)
    update task as t set state = 1, listed = true, owner = null, started = null
      from held where t.topic = $1 and t.sequence = held.sequence
    returning t.sequence`,
}
const topicFloor = { name: `${name} floor`, text: 'select floor from task_topic where topic = $1' }
const horizon = {
  name: `${name} horizon`,
  text: 'select floor, horizon, horizon_xid::text as xid from task_topic where topic = $1 for update skip locked',
}
const advance = {
  name: `${name} advance`,
  text: `
    with s as materialized (select pg_snapshot_xmin(pg_current_snapshot()) as low, pg_current_xact_id() as mark),
    settled as (select case when s.low >= $3::xid8 then $2::bigint end as bound from s),
    lowest as (
      select coalesce((select sequence - 1 from task where topic = $1 and state = 1 and not listed and sequence > $5::bigint
        and sequence <= (select bound from settled) order by sequence limit 1), (select bound from settled)) as floor)
    update task_topic as t
       set floor = greatest(t.floor, coalesce(lowest.floor, t.floor)),
           horizon = case when settled.bound is null then t.horizon else $4::bigint end,
           horizon_xid = case when settled.bound is null then t.horizon_xid else s.mark end
      from s, settled, lowest where t.topic = $1
    returning t.floor`,
}

class TickedPoller implements Poller {
  readonly tickMs: number = tickMs
  readonly #topic: string
  #hint = 0
  #floor = 0
  #rescanAt = 0

  constructor(topic: string) {
    this.#topic = topic
  }

  async poll(client: ClientBase, size: number, owner: string): Promise<Claim[]> {
    if (this.#floor === 0) this.#floor = (await run<{ floor: number }>(client, topicFloor, [this.#topic])).rows[0]?.floor ?? 0
    const due = Date.now() >= this.#rescanAt
    const from = due ? this.#floor : Math.max(this.#hint, this.#floor)
    const claims = (await run<Claim>(client, poll, [this.#topic, size, owner, from])).rows
    if (!due && claims.length < size) {
      claims.push(...(await run<Claim>(client, poll, [this.#topic, size - claims.length, owner, this.#floor])).rows)
    }
    if (due) this.#rescanAt = Date.now() + tickMs
    for (const claim of claims) this.#hint = Math.max(this.#hint, claim.sequence)
    return sorted(claims)
  }

  async tick(client: ClientBase): Promise<void> {
    await client.query('begin')
    const bound = (await client.query<{ last_value: number }>('select last_value from task_sequence')).rows[0]?.last_value
    const row = (await run<{ floor: number; horizon: number; xid: string }>(client, horizon, [this.#topic])).rows[0]
    if (!row) return void (await client.query('rollback'))
    const values = [this.#topic, row.horizon, row.xid, bound, row.floor]
    this.#floor = (await run<{ floor: number }>(client, advance, values)).rows[0]?.floor ?? 0
    await client.query('commit')
  }
}

export const hotTicked: Layout = {
  name,
  note: 'primary key only, hint + floor moved by a tick each second, fillfactor 28',
  schema: [...createTables({ fillfactor: 28 }), 'create index task_listed on task (topic, sequence) where listed'],
  push: async (client, topic, identifiers, inputs) => sequencesOf(await run(client, push, [topic, identifiers, inputs])),
  createPoller: (topic) => new TickedPoller(topic),
  complete: (client, topic, owner, completions) => complete(client, completion, topic, owner, completions),
  reset: async (client, topic, sequences) => sequencesOf(await run(client, reset, [topic, sequences])),
  expire: async (client, topic, owner) => sequencesOf(await run(client, expire, [topic, owner])),
}
