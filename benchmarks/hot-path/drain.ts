/** Push and drain of one layout in a fresh database. */
import type { Connection } from './database.ts'
import { connect, install, topic, withDatabase } from './database.ts'
import type { Layout } from './layouts/layout.ts'
import { race } from './workers.ts'

export const input = JSON.stringify({ to: 'someone@example.org', subject: 'A letter', body: 'x'.repeat(40) })

export async function pushAll(connection: Connection, layout: Layout, tasks: number, batch = 1000): Promise<number> {
  const client = await connect(connection)
  const started = performance.now()
  for (let from = 0; from < tasks; from += batch) {
    const identifiers = Array.from({ length: batch }, (_, index) => `customer ${from + index}`)
    await layout.push(
      client,
      topic,
      identifiers,
      Array.from({ length: batch }, () => input),
    )
  }
  const rate = (tasks / (performance.now() - started)) * 1000
  await client.end()
  return rate
}

export async function drainAll(connection: Connection, layout: Layout, tasks: number, processes: number): Promise<number> {
  const owners = Array.from({ length: processes }, (_, index) => `node-${index}:4711:9f3a`)
  const orders = owners.map((owner) => ({ connection, layout: layout.name, owner, size: 1000 }))
  return race('drain-worker.ts', orders, tasks)
}

export interface Throughput {
  readonly push: number
  readonly drain1: number
  readonly drain2: number
  readonly hot: number
}

export const drainOwners = ['node-0:4711:9f3a', 'node-1:4711:9f3a']

export async function measureThroughput(server: Connection, layout: Layout, tasks: number): Promise<Throughput> {
  const rates = { push: 0, drain1: 0, drain2: 0, hot: 0 }
  for (const processes of [1, 2] as const) {
    await withDatabase(server, async (connection) => {
      await install(connection, layout, drainOwners)
      const push = await pushAll(connection, layout, tasks)
      rates.push = Math.max(rates.push, push)
      rates[`drain${processes}`] = await drainAll(connection, layout, tasks, processes)
      rates.hot = await hotShare(connection)
    })
  }
  return rates
}

async function hotShare(connection: Connection): Promise<number> {
  const client = await connect(connection)
  const { rows } = await client.query<{ share: number }>(
    `select n_tup_hot_upd::float8 / nullif(n_tup_upd, 0) as share from pg_stat_user_tables where relname = 'task'`,
  )
  await client.end()
  return rows[0]?.share ?? 0
}

export type Disturbance = 'nothing' | 'a snapshot held' | 'a writer held'

/** Two processes drain while another session holds what it holds. */
export async function measureDisturbed(
  server: Connection,
  layout: Layout,
  tasks: number,
  disturbance: Disturbance,
): Promise<number> {
  return withDatabase(server, async (connection) => {
    await install(connection, layout, drainOwners)
    const other = await connect(connection)
    await other.query('create table unrelated (id int)')
    // The writer is older than the pushes: no bound that covers them can settle.
    if (disturbance === 'a writer held') await other.query('begin; insert into unrelated values (1)')
    await pushAll(connection, layout, tasks)
    if (disturbance === 'a snapshot held')
      await other.query('begin isolation level repeatable read; select count(*) from unrelated')
    const rate = await drainAll(connection, layout, tasks, 2)
    await other.end()
    return rate
  })
}
