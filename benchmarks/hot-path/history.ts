/** What a topic with a long history costs: cold polls, rows that linger at its beginning, a dead owner, bytes on disk. */
import type { Client } from 'pg'
import type { Connection } from './database.ts'
import { connect, install, register, topic, withDatabase } from './database.ts'
import { drainAll, drainOwners, pushAll } from './drain.ts'
import { state } from './layouts/layout.ts'
import type { Layout } from './layouts/layout.ts'
import { median } from './report.ts'

export interface History {
  readonly cold: readonly number[]
  readonly coldAfterReset: readonly number[]
  readonly expiry: readonly number[]
  readonly tableBytes: number
  readonly indexBytes: number
}

const repeats = 7

/** The history is made by the layout's own verbs, so that its floor, its dead rows and its statistics are what they would be. */
export async function measureHistory(server: Connection, layout: Layout, finished: number): Promise<History> {
  return withDatabase(server, async (connection) => {
    await install(connection, layout, [...drainOwners, 'slow', 'cold', 'dead'])
    const admin = await connect(connection)
    const [reset, delayed] = await linger(admin, layout)
    await pushAll(connection, layout, finished)
    await drainAll(connection, layout, finished, 2)
    // The next tick, where a layout has one, and the floor's last step before the cold polls.
    const poller = layout.createPoller(topic)
    await poller.tick?.(admin)
    await poller.tick?.(admin)
    await poller.poll(admin, 10, 'slow')
    const { rows } = await admin.query<{ table: number; indexes: number }>(
      `select pg_table_size('task')::float8 as "table", pg_indexes_size('task')::float8 as indexes`,
    )
    const cold = await pollCold(connection, admin, layout, async () => {
      await layout.push(
        admin,
        topic,
        Array.from({ length: 10 }, (_, index) => `${index}`),
        Array.from({ length: 10 }, () => 'x'),
      )
    })
    const coldAfterReset = await pollCold(connection, admin, layout, async () => {
      await layout.push(
        admin,
        topic,
        Array.from({ length: 9 }, (_, index) => `${index}`),
        Array.from({ length: 9 }, () => 'x'),
      )
      await layout.reset(admin, topic, [reset])
    })
    if (delayed === undefined) throw new Error('The delayed row is gone')
    const expiry = await expireDead(connection, admin, layout)
    await admin.end()
    return {
      cold,
      coldAfterReset,
      expiry,
      tableBytes: (rows[0]?.table ?? 0) / finished,
      indexBytes: (rows[0]?.indexes ?? 0) / finished,
    }
  })
}

/** At the very beginning: a row to be reset later, a row that is not due for an hour, a row that stays ACTIVE. */
async function linger(admin: Client, layout: Layout): Promise<[number, number | undefined]> {
  const [reset = 0, delayed] = await layout.push(admin, topic, ['reset', 'delayed', 'slow'], ['x', 'x', 'x'])
  await admin.query(
    `update task set state = 4${layout.name.endsWith('minimal') ? '' : `, due = now() + interval '1 hour'`}, listed = false where sequence = $1`,
    [delayed],
  )
  const claims = await layout.createPoller(topic).poll(admin, 2, 'slow')
  const claim = claims.find((each) => each.sequence === reset)
  if (claim) await layout.complete(admin, topic, 'slow', [{ ...claim, state: state.failed, output: null }])
  return [reset, delayed]
}

async function pollCold(connection: Connection, admin: Client, layout: Layout, prepare: () => Promise<void>): Promise<number[]> {
  const times: number[] = []
  for (let time = 0; time < repeats; time++) {
    await prepare()
    const client = await connect(connection)
    const started = performance.now()
    const claims = await layout.createPoller(topic).poll(client, 10, 'cold')
    times.push(performance.now() - started)
    if (claims.length !== 10) throw new Error(`${layout.name}: a cold poll found ${claims.length} of 10`)
    await layout.complete(
      admin,
      topic,
      'cold',
      claims.map((claim) => ({ ...claim, state: state.failed, output: null })),
    )
    await client.end()
  }
  return times
}

async function expireDead(connection: Connection, admin: Client, layout: Layout): Promise<number[]> {
  const times: number[] = []
  for (let time = 0; time < 3; time++) {
    await register(admin, [`dead ${time}`])
    await pushAll(connection, layout, 1000)
    await layout.createPoller(topic).poll(admin, 1000, `dead ${time}`)
    const client = await connect(connection)
    const started = performance.now()
    const expired = await layout.expire(client, topic, `dead ${time}`)
    times.push(performance.now() - started)
    await client.end()
    if (expired.length !== 1000) throw new Error(`${layout.name}: expired ${expired.length} of 1000`)
    const again = await layout.createPoller(topic).poll(admin, 1000, 'slow')
    await layout.complete(
      admin,
      topic,
      'slow',
      again.map((claim) => ({ ...claim, state: state.succeeded, output: null })),
    )
  }
  return times
}

export function span(times: readonly number[]): string {
  return `${median(times).toFixed(1)} / ${Math.max(...times).toFixed(1)}`
}
