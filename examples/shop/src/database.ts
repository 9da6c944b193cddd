/** Opens the shop's database, and a stream in it: PostgreSQL or SQLite, as DATABASE_URL says. Nothing else knows which. */
import Database from 'better-sqlite3'
import { Kysely, PostgresDialect, sql, SqliteDialect } from 'kysely'
import pg from 'pg'
import { taskstream } from 'taskstream/kysely'
import type { Stream, StreamOptions } from 'taskstream/kysely'
import { settings } from './settings.ts'

interface Tables {
  orders: { id: string; customer: string; total: number; paid: number }
  invoices: { order_id: string; total: number }
  mails: { order_id: string; about: string; recipient: string }
  carts: { id: string; touched_at: number }
}

export type ShopDatabase = Kysely<Tables>
export type ShopStream = Stream<ShopDatabase>

export interface Shop {
  readonly db: ShopDatabase
  readonly stream: ShopStream
  close(): Promise<void>
}

const connections = 10

/** The tables are those of the deployment (migrate.ts), which may alter them; the processes may not. */
export function openShop(options: StreamOptions<ShopDatabase> = {}): Shop {
  const streaming = {
    migrate: false,
    leaseMs: settings.leaseMs,
    heartbeatIntervalMs: Math.ceil(settings.leaseMs / 6),
    ...options,
  }
  const url = settings.databaseUrl
  if (url.startsWith('sqlite:')) {
    const database = new Database(url.slice('sqlite:'.length), { timeout: 0 })
    database.pragma('journal_mode = wal')
    const db: ShopDatabase = new Kysely({ dialect: new SqliteDialect({ database }) })
    return { db, stream: taskstream(db, { ...streaming, database: 'sqlite', sql }), close: () => db.destroy() }
  }
  const pool = new pg.Pool({ connectionString: url, max: connections, connectionTimeoutMillis: 5_000 })
  const lost = (error: Error): void => console.error(`a connection was lost: ${error.message}`)
  pool.on('error', lost).on('connect', (client) => client.on('error', lost))
  const db: ShopDatabase = new Kysely({ dialect: new PostgresDialect({ pool }) })
  const stream = taskstream<ShopDatabase, ShopDatabase>(db, { ...streaming, database: 'postgres', sql, connections })
  return { db, stream, close: () => db.destroy() }
}
