/** One PostgreSQL server for a whole run, with databases that are made for single measurements. */
import pg from 'pg'
import type { ClientConfig } from 'pg'

// Sequences are always safe integers.
pg.types.setTypeParser(20, Number)

export type Connection = Pick<ClientConfig, 'host' | 'port' | 'user' | 'database'>

export async function connect(connection: Connection, Client = pg.Client): Promise<pg.Client> {
  const client = new Client(connection)
  // When a server is crashed on purpose, the next query reports it; this event must not end the process.
  client.on('error', () => {})
  await client.connect()
  return client
}

export function poolOf(connection: Connection, max: number): pg.Pool {
  const pool = new pg.Pool({ ...connection, max })
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/** A database that is kept for several measurements. */
export interface Database extends AsyncDisposable {
  readonly connection: Connection
}

let databases = 0

export async function openDatabase(server: Connection): Promise<Database> {
  const database = `measure_${process.pid}_${++databases}`
  await command(server, `create database ${database}`)
  return {
    connection: { ...server, database },
    [Symbol.asyncDispose]: () => command(server, `drop database if exists ${database} with (force)`),
  }
}

export async function withDatabase<Result>(
  server: Connection,
  body: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  await using database = await openDatabase(server)
  return await body(database.connection)
}

async function command(server: Connection, text: string): Promise<void> {
  const client = await connect(server)
  await client.query(text)
  await client.end()
}
