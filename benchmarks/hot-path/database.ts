/** One PostgreSQL for a whole run; a fresh database for each measurement. */
import pg from 'pg'
import type { ClientBase, ClientConfig } from 'pg'
import type { Layout } from './layouts/layout.ts'

// Sequences are safe integers by the model's rule.
pg.types.setTypeParser(20, Number)

export type Connection = Pick<ClientConfig, 'host' | 'port' | 'user' | 'database'>

export async function connect(connection: Connection): Promise<pg.Client> {
  const client = new pg.Client(connection)
  // A server that is crashed on purpose ends its sessions: the next query says so.
  client.on('error', () => {})
  await client.connect()
  return client
}

let databases = 0

export async function withDatabase<Result>(
  server: Connection,
  body: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const database = `measure_${process.pid}_${++databases}`
  await command(server, `create database ${database}`)
  try {
    return await body({ ...server, database })
  } finally {
    await command(server, `drop database if exists ${database} with (force)`)
  }
}

/** On a connection of its own: the server may have been crashed since the last one. */
async function command(server: Connection, text: string): Promise<void> {
  const client = await connect(server)
  await client.query(text)
  await client.end()
}

export const topic = 'mail'

export async function install(connection: Connection, layout: Layout, owners: readonly string[] = []): Promise<void> {
  const client = await connect(connection)
  for (const statement of layout.schema) await client.query(statement)
  await client.query('insert into task_topic (topic) values ($1)', [topic])
  await register(client, owners)
  await client.end()
}

export async function register(client: ClientBase, owners: readonly string[]): Promise<void> {
  await client.query('insert into task_owner (owner) select unnest($1::text[]) on conflict do nothing', [owners])
}

export async function transaction<Result>(client: ClientBase, body: () => Promise<Result>): Promise<Result> {
  await client.query('begin')
  try {
    const result = await body()
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}
