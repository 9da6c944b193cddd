/** The database of every recipe: PostgreSQL if DATABASE_URL names a server, and otherwise SQLite in memory. */
import Database from 'better-sqlite3'
import { Kysely, PostgresDialect, sql, SqliteDialect } from 'kysely'
import pg from 'pg'
import { taskstream } from 'taskstream/kysely'
import type { Stream, StreamOptions } from 'taskstream/kysely'

/** What a program has at hand: its own tables, and a stream beside them. Transactions of the stream are those of Kysely. */
export interface Open<Tables> {
  readonly db: Kysely<Tables>
  newStream(options?: StreamOptions<Kysely<Tables>>): Stream<Kysely<Tables>>
  close(): Promise<void>
}

export function openDatabase<Tables>(url: string = process.env['DATABASE_URL'] ?? 'sqlite::memory:'): Open<Tables> {
  return url.startsWith('sqlite:') ? openSqlite(url.slice('sqlite:'.length)) : openPostgres(url)
}

function openSqlite<Tables>(file: string): Open<Tables> {
  const database = new Database(file, { timeout: 0 })
  database.pragma('journal_mode = wal')
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database }) })
  return { db, newStream: (options) => taskstream(db, { ...options, database: 'sqlite', sql }), close: () => db.destroy() }
}

function openPostgres<Tables>(connectionString: string): Open<Tables> {
  const pool = new pg.Pool({ connectionString, max: 5 })
  // Kysely does not listen for the loss of a connection, and an error event without a listener ends the process.
  pool.on('error', () => {}).on('connect', (client) => client.on('error', () => {}))
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  return {
    db,
    newStream: (options) =>
      taskstream<Kysely<Tables>, Kysely<Tables>>(db, { ...options, database: 'postgres', sql, connections: 5 }),
    close: () => db.destroy(),
  }
}
