import { existsSync } from 'node:fs'
import { TaskError } from '@taskstream/task-api'
import type { Execution, TaskNotifier, TransactionSource } from '@taskstream/task-api'
import { allPeriodicTasks } from '@taskstream/task-scheduler'
import { checkSchema, sqlTaskRepository } from '@taskstream/task-sql'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import type { Context } from './contexts.ts'
import { noteHint } from './hints.ts'
import { sourceOf } from './source.ts'
import type { SourceOptions } from './source.ts'

/** A transaction of any driver. No command looks inside it. */
type AnyTransaction = unknown

interface Database extends AsyncDisposable {
  readonly tasks: SqlTaskRepository<AnyTransaction, Execution>
  readonly transactions: TransactionSource<AnyTransaction>
  /** Runs transactions that only read. They do not wait for writers. */
  readonly reading: TransactionSource<AnyTransaction>
  /** The notifier that a node of this address would have. */
  readonly notifier?: TaskNotifier
  /** Gives a file of SQLite its write-ahead log, once it is known to be ours. */
  readonly configure?: () => void
}

/** A database that the options name. */
export interface NamedDatabase extends Database {
  /** What messages call it. */
  readonly place: string
  readonly context?: Context
}

/**
 * Opens the database of the URL, and checks that its tables are those of this release.
 *
 * @throws TaskError ARGUMENT_INVALID, DATABASE_MISSING; SCHEMA_MISSING, SCHEMA_OLDER or SCHEMA_NEWER if the tables are not those of this release
 */
export async function openDatabase(options: SourceOptions): Promise<NamedDatabase> {
  const database = await connect(options)
  try {
    await database.reading(database.tasks.verb(({ dialect }) => checkSchema(dialect)))
    database.configure?.()
    return database
  } catch (error) {
    await database[Symbol.asyncDispose]()
    throw error
  }
}

/**
 * Opens the database of the URL without a look at its tables. A driver is loaded only when it is needed.
 *
 * @param missing what to do if a SQLite file does not exist: refuse, make the file, or pretend that there is an empty one
 * @throws TaskError ARGUMENT_INVALID, DATABASE_MISSING
 */
export async function connect(options: SourceOptions, missing: 'refuse' | 'make' | 'pretend' = 'refuse'): Promise<NamedDatabase> {
  const { location, place, schema, context } = sourceOf(options)
  const database =
    location.engine === 'sqlite'
      ? await openSqlite(location.path, missing)
      : location.engine === 'postgres'
        ? await openPostgres(location.url, schema)
        : await openMysql(location.url)
  return {
    ...database,
    transactions: withHints(database.transactions, database, place),
    reading: withHints(database.reading, database, place),
    place,
    ...(context && { context }),
  }
}

/** Notes of errors which name may have been meant, while the database can still be asked. */
function withHints(
  source: TransactionSource<AnyTransaction>,
  database: Database,
  place: string,
): TransactionSource<AnyTransaction> {
  const { tasks, reading } = database
  const timers = (): Promise<readonly { readonly scope: string; readonly id: string }[]> =>
    reading((transaction) => allPeriodicTasks(tasks)(transaction))
  const names = {
    topics: () => reading<string[]>((transaction) => tasks.topics(transaction)),
    timers: async (scope: string) => (await timers()).filter((one) => one.scope === scope).map(({ id }) => id),
    scopes: async (id: string) => (await timers()).filter((one) => one.id === id).map(({ scope }) => scope),
  }
  return async (work, options) => {
    try {
      return await source(work, options)
    } catch (error) {
      await noteHint(error, place, names)
      throw error
    }
  }
}

async function openPostgres(url: string, schema: string | undefined): Promise<Database> {
  const { fromPg, pgListener, pgTransactions, postgres } = await import('@taskstream/task-sql/pg')
  // The driver belongs to the user, and its types are not installed here. The type below has what the repository needs.
  const name: string = 'pg'
  const { default: pg } = (await import(name).catch((cause: unknown) => {
    throw new TaskError('ARGUMENT_INVALID', 'PostgreSQL needs the package pg: npm install pg', {}, { cause: cause as Error })
  })) as {
    default: {
      Pool: new (
        options: object,
      ) => Parameters<typeof pgTransactions>[0] & { end(): Promise<void>; on(event: 'error', listener: () => void): void }
      Client: new (options: object) => ReturnType<Extract<Parameters<typeof pgListener>[0], () => unknown>>
    }
  }
  const pool = new pg.Pool({ connectionString: url, max: 2, connectionTimeoutMillis: 10_000 })
  pool.on('error', () => {})
  const transactions = pgTransactions(pool) as Database['transactions']
  const named = schema === undefined ? {} : { schema }
  return {
    tasks: sqlTaskRepository({ dialect: postgres(named), adapter: fromPg }) as Database['tasks'],
    transactions,
    reading: transactions,
    notifier: pgListener(() => new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 }), named),
    [Symbol.asyncDispose]: () => pool.end(),
  }
}

async function openMysql(url: string): Promise<Database> {
  const { fromMysql2, mariadb, mysql, mysql2Transactions } = await import('@taskstream/task-sql/mysql2')
  const name: string = 'mysql2/promise'
  const { createPool } = (await import(name).catch((cause: unknown) => {
    throw new TaskError(
      'ARGUMENT_INVALID',
      'MariaDB and MySQL need the package mysql2: npm install mysql2',
      {},
      { cause: cause as Error },
    )
  })) as { createPool: (options: object) => Parameters<typeof mysql2Transactions>[0] & { end(): Promise<void> } }
  const pool = createPool({ uri: url.replace(/^mariadb:/, 'mysql:'), connectionLimit: 2, connectTimeout: 10_000 })
  const transactions = mysql2Transactions(pool) as Database['transactions']
  const dialect = url.startsWith('mariadb:') ? mariadb() : mysql()
  return {
    tasks: sqlTaskRepository({ dialect, adapter: fromMysql2 }) as Database['tasks'],
    transactions,
    reading: transactions,
    [Symbol.asyncDispose]: () => pool.end(),
  }
}

async function openSqlite(path: string, missing: 'refuse' | 'make' | 'pretend'): Promise<Database> {
  if (missing === 'refuse' && !existsSync(path))
    throw new TaskError('DATABASE_MISSING', `There is no file ${path}. Make it with: taskstream migrate up`, { path })
  const { configureSqlite, fromNodeSqlite, openNodeSqlite, sqlite, sqliteListener, sqliteTransactions } =
    await import('@taskstream/task-sql/node-sqlite')
  const database = await openNodeSqlite(missing === 'pretend' && !existsSync(path) ? ':memory:' : path, { journal: 'kept' })
  return {
    tasks: sqlTaskRepository({ dialect: sqlite(), adapter: fromNodeSqlite }) as unknown as Database['tasks'],
    transactions: sqliteTransactions(database) as Database['transactions'],
    reading: async (work) => {
      // A deferred transaction: `sqliteTransactions` begins with the lock of the only writer.
      database.exec('begin')
      try {
        return await work(database)
      } finally {
        database.exec('rollback')
      }
    },
    notifier: {
      listen: async (listener) => {
        // Its own commits tell a connection nothing.
        // mutants: equivalent property, the file has got its log when its tables were found
        const own = await openNodeSqlite(path, { journal: 'kept' })
        const listening = await sqliteListener(own).listen(listener)
        return {
          [Symbol.asyncDispose]: async () => {
            await listening[Symbol.asyncDispose]()
            own.close()
          },
        }
      },
    },
    configure: () => configureSqlite(database),
    [Symbol.asyncDispose]: async () => database.close(),
  }
}
