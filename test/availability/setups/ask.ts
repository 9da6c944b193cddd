/** One statement on a connection of its own. */
import { createConnection } from 'mysql2/promise'
import pg from 'pg'

type Rows = readonly Readonly<Record<string, unknown>>[]

export async function askPostgres(url: string, statement: string): Promise<Rows> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 30_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<Readonly<Record<string, unknown>>>(statement)
    return rows
  } finally {
    await client.end().catch(() => {})
  }
}

export async function askMysql(url: string, statement: string): Promise<Rows> {
  const connection = await createConnection({ uri: url, connectTimeout: 5_000 })
  connection.on('error', () => {})
  try {
    const [rows] = await connection.query({ sql: statement, timeout: 30_000 })
    return rows as Rows
  } finally {
    connection.destroy()
  }
}
