/** Resets, reassigns, recreates and purges tasks, some in a transaction that stays open or is rolled back. */
import { setTimeout } from 'node:timers/promises'
import type { Client } from 'pg'
import { Actor, expect } from './actor.ts'

const actor = new Actor()
const { tiles, ledger } = actor
let made = 0
/** What a range of the product holds stays there. */
const isFree = process.env['HAMMER_PRODUCT']
  ? ` and (state <> 1 or listed or not exists (select from task_range r where r.topic = 't' and r.state = 0 and sequence between r.lo and r.hi))`
  : ''

await actor.repeat(async (client) => {
  const act = actor.pick([reset, reassign, reassign, recreate, purge])
  await client.query('begin')
  const touched = await act(client)
  if (actor.chance(0.1)) await setTimeout(actor.between(50, 300))
  if (actor.chance(0.1)) return void (await client.query('rollback'))
  await client.query('commit')
  ledger.say({ k: 'touched', what: act.name, identifiers: touched })
  await actor.pause(10, 150)
})

/** Some tasks that ended, in a range or by themselves. */
async function ended(client: Client): Promise<number[]> {
  return numbers(
    client,
    `with r as (select lo, hi from task_range where topic = 't' and state = 6 and lo >= (
       select (min(lo) + $2::float8 * (max(hi) - min(lo)))::int8 from task_range where topic = 't') order by topic, lo limit 1)
     select t.sequence from r, task t where t.topic = 't' and t.sequence between r.lo and r.hi and coalesce(t.state in (3, 5, 6), true) limit $1`,
    [actor.between(1, 4), actor.random()],
  )
}

/** Some tasks that nobody has taken yet: the last, late or listed ones. */
function waiting(client: Client): Promise<number[]> {
  return numbers(
    client,
    `(select sequence from task where topic = 't' and coalesce(state = 1, true) order by topic desc, sequence desc limit $1)
     union (select t.sequence from task_range r, task t where r.topic = 't' and r.state = 9 and t.topic = 't' and t.sequence between r.lo and r.hi and t.state is null limit $1)
     union (select sequence from task where topic = 't' and listed and state = 1 limit 1)`,
    [actor.between(1, 4)],
  )
}

async function numbers(client: Client, text: string, values: unknown[]): Promise<number[]> {
  const { rows } = await client.query<{ sequence: string }>(text, values)
  return rows.map(({ sequence }) => Number(sequence)).sort((a, b) => a - b)
}

async function change(
  client: Client,
  text: string,
  sequences: readonly number[],
): Promise<{ identifier: string; before: number }[]> {
  await client.query(
    `select from task where topic = 't' and sequence = any ($1::int8[]) and state is not null order by sequence for no key update`,
    [sequences],
  )
  const { rows } = await client.query<{ identifier: string; before: number }>(
    `update task set ${text}${isFree} returning identifier, old.state as before`,
    [sequences],
  )
  return rows
}

async function reset(client: Client): Promise<string[]> {
  const sequences = await ended(client)
  await tiles.leave(client, sequences)
  const rows = await change(
    client,
    `state = 1, listed = true, owner = null, completed = null where topic = 't' and sequence = any ($1::int8[]) and state in (3, 5, 6)`,
    sequences,
  )
  const identifiers = rows.map(({ identifier }) => identifier)
  await expect(client, identifiers, 1, 'reset')
  return identifiers
}

/** Gives ready tasks the result that they are not wanted. */
async function reassign(client: Client): Promise<string[]> {
  const sequences = await waiting(client)
  await tiles.leave(client, sequences)
  const rows = await change(
    client,
    `state = 5, listed = false where topic = 't' and sequence = any ($1::int8[]) and state = 1`,
    sequences,
  )
  const identifiers = rows.map(({ identifier }) => identifier)
  await expect(client, identifiers, -1, 'reassign')
  return identifiers
}

async function recreate(client: Client): Promise<string[]> {
  const sequences = await (actor.chance(0.5) ? waiting(client) : ended(client))
  await tiles.leave(client, sequences)
  const rows = await change(
    client,
    `state = 7, listed = false where topic = 't' and sequence = any ($1::int8[]) and state in (1, 3, 5, 6)`,
    sequences,
  )
  const unmade = rows.filter(({ before }) => before === 1).map(({ identifier }) => identifier)
  await expect(client, unmade, -1, 'recreate')
  const anew = rows.map(() => `${actor.orders.name}-${made++}`)
  if (anew.length > 0) await tiles.push(client, anew)
  await expect(client, anew, 1, 'recreated')
  return rows.map(({ identifier }) => identifier)
}

/** Deletes what ended, of a range at once or row by row. */
async function purge(client: Client): Promise<string[]> {
  const [sequence] = await ended(client)
  if (sequence === undefined || actor.chance(0.7)) return []
  ledger.say({ k: 'count', what: 'purged', n: await tiles.purge(client, sequence) })
  return []
}
