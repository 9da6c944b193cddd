/** The three databases of the demo behind one interface, so that the rest of the demo is the same on all of them. */
import type { Execution, TaskNotifier, TransactionSource } from '@taskstream/task-api'
import { raw, sqlTaskRepository } from '@taskstream/task-sql'
import type { Row, SqlAdapter, SqlTaskRepository, Statement } from '@taskstream/task-sql'
import {
  fromBetterSqlite3,
  openBetterSqlite3,
  sqlite,
  sqliteListener,
  sqliteTransactions,
} from '@taskstream/task-sql/better-sqlite3'
import { fromPg, pgListener, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import pg from 'pg'

/**
 * Where the tasks and the audit are kept: a SQLite file, or a PostgreSQL server and a schema in it. Can be sent to a worker process.
 */
export type Location =
  | { readonly engine: 'sqlite'; readonly file: string }
  | { readonly engine: 'postgres'; readonly url: string; readonly schema: string }

export interface DemoDatabase<Transaction> extends AsyncDisposable {
  readonly tasks: SqlTaskRepository<Transaction, Execution>
  readonly transactions: TransactionSource<Transaction>
  readonly notifier: TaskNotifier
  /** The application's own table. It has no unique key, so an effect that was applied twice would be there twice. */
  readonly audit: Statement
  /** Runs one of the application's own statements in the transaction of the tasks. */
  execute(transaction: Transaction, statement: Statement): Promise<readonly Row[]>
}

export async function openDatabase(location: Location): Promise<DemoDatabase<never>> {
  const database =
    location.engine === 'sqlite' ? await openSqlite(location.file) : await openPostgres(location.url, location.schema)
  return database as unknown as DemoDatabase<never>
}

async function openSqlite(file: string): Promise<DemoDatabase<Awaited<ReturnType<typeof openBetterSqlite3>>>> {
  const database = await openBetterSqlite3(file)
  const listening = await openBetterSqlite3(file)
  return {
    tasks: sqlTaskRepository({ dialect: sqlite(), adapter: fromBetterSqlite3 as SqlAdapter<typeof database, 'sync'> }),
    transactions: sqliteTransactions(database),
    notifier: sqliteListener(listening),
    audit: raw('audit'),
    execute: async (transaction, statement) => fromBetterSqlite3.execute(transaction, statement),
    [Symbol.asyncDispose]: async () => {
      listening.close()
      database.close()
    },
  }
}

async function openPostgres(url: string, schema: string): Promise<DemoDatabase<pg.PoolClient>> {
  const pool = new pg.Pool({ connectionString: url, max: 5 })
  // The pool replaces a connection that breaks while idle. Without this listener the error would end the process.
  pool.on('error', () => {})
  return {
    tasks: sqlTaskRepository({ dialect: postgres({ schema }), adapter: fromPg as SqlAdapter<pg.PoolClient, 'async'> }),
    transactions: pgTransactions(pool),
    notifier: pgListener(() => new pg.Client({ connectionString: url }), { schema }),
    audit: raw(`${schema}.audit`),
    execute: (transaction, statement) => fromPg.execute(transaction, statement),
    [Symbol.asyncDispose]: () => pool.end(),
  }
}
