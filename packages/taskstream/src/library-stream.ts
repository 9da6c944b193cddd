import { invalid } from '@taskstream/task-api'
import type { Execution, TransactionSource } from '@taskstream/task-api'
import { sqlTaskRepository } from '@taskstream/task-sql'
import type { Dialect, SqlAdapter } from '@taskstream/task-sql'
import { mariadb, mysql } from '@taskstream/task-sql/mysql2'
import { sqlite } from '@taskstream/task-sql/node-sqlite'
import { postgres } from '@taskstream/task-sql/pg'
import type { PostgresOptions } from '@taskstream/task-sql/pg'
import { checkedOptions, given } from './given.ts'
import { Stream } from './stream.ts'
import type { StreamOptions } from './stream-options.ts'

export type MysqlDatabase = 'mariadb' | 'mysql'
export type ServerDatabase = 'postgres' | MysqlDatabase
export type LibraryDatabase = ServerDatabase | 'sqlite'

/** Options of a stream over a library that runs on several databases. `partitioned` and `notify` are for PostgreSQL alone. */
export interface LibraryStreamOptions<Transaction, Database extends LibraryDatabase = LibraryDatabase>
  extends StreamOptions<Transaction>, PostgresOptions {
  /**
   * Which database is below the library, as their SQL differs. Open a SQLite file with a write-ahead log and with a timeout of 0: the stream waits by
   * itself while another connection writes, and the driver's own wait would block the event loop.
   */
  readonly database: Database
  /**
   * The schema of the tables on PostgreSQL, 1 to 40 letters, digits and underscores, default `taskstream`. On MariaDB and MySQL it is the database of
   * the tables, which must exist; default: the connection's database. SQLite has no schemas.
   */
  readonly schema?: string
  /**
   * How many connections the library's pool opens at most, 1 to 1 000 000. `start` checks whether they suffice. The default is the size that the
   * library gives for its pool; Kysely and Prisma give none, and then nothing is checked. Not for SQLite, whose transactions follow each other.
   */
  readonly connections?: number
}

/** What a library has for one family of databases. */
interface LibraryParts<Transaction, E extends Execution> {
  readonly adapter: SqlAdapter<NoInfer<Transaction>, E>
  readonly transactions: TransactionSource<Transaction>
}

type Pool = Pick<LibraryStreamOptions<never>, 'connections'>

/** Makes the parts for each family of databases. Only the family that is used is made. */
interface LibraryFamilies<Transaction, E extends Execution> {
  readonly postgres: (pool: Pool) => LibraryParts<Transaction, E>
  readonly mysql: (pool: Pool) => LibraryParts<Transaction, E>
  readonly sqlite: () => LibraryParts<Transaction, E>
}

type Settings = PostgresOptions & Pool

interface Kind {
  readonly family: keyof LibraryFamilies<never, Execution>
  readonly dialect: (options: PostgresOptions) => Dialect
  /** The options that mean nothing there. */
  readonly refused: readonly (keyof Settings)[]
}

const onlyPostgres = ['partitioned', 'notify'] as const
const kinds: Readonly<Record<LibraryDatabase, Kind>> = {
  postgres: { family: 'postgres', dialect: postgres, refused: [] },
  mariadb: { family: 'mysql', dialect: ({ schema }) => mariadb(given({ database: schema })), refused: onlyPostgres },
  mysql: { family: 'mysql', dialect: ({ schema }) => mysql(given({ database: schema })), refused: onlyPostgres },
  sqlite: { family: 'sqlite', dialect: () => sqlite(), refused: ['schema', 'connections', ...onlyPostgres] },
}

/**
 * Makes a stream of a library on the database that the options name.
 *
 * @throws TaskError ARGUMENT_INVALID
 */
export function libraryStream<Transaction, E extends Execution>(
  own: LibraryStreamOptions<Transaction>,
  families: LibraryFamilies<Transaction, E>,
): Stream<Transaction, E> {
  const { database, schema, partitioned, notify, connections, ...options } = checkedOptions(own, "{ database: 'postgres' }")
  if (!Object.hasOwn(kinds, database)) throw invalid('database', database, `must be one of ${Object.keys(kinds).join(', ')}`)
  const { family, dialect, refused } = kinds[database]
  const dialectOptions = given({ schema, partitioned, notify })
  const pool = given({ connections })
  const settings: Settings = { ...dialectOptions, ...pool }
  for (const name of refused)
    if (settings[name] !== undefined) throw invalid(name, settings[name], `must not be given for ${database}`)
  const { adapter, transactions } = families[family](pool)
  const repository = sqlTaskRepository({ dialect: dialect(dialectOptions), adapter })
  return new Stream<Transaction, E>({ repository, transactions }, options)
}

/** Refuses what is not the tag of a library. Without it the first statement would fail, in words that name no option. */
export function checkTag(sql: unknown, from: string): void {
  if (typeof sql !== 'function') throw invalid('sql', sql, `must be the tag that is imported from '${from}'`)
}
