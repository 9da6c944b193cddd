import {
  fromKnex,
  fromKnexMysql,
  fromKnexSqlite,
  knexMysqlTransactions,
  knexSqliteTransactions,
  knexTransactions,
} from '@taskstream/task-sql/knex'
import type { KnexDatabase, KnexTransaction } from '@taskstream/task-sql/knex'
import { checkHas } from '../check-has.ts'
import { libraryStream } from '../library-stream.ts'
import type { LibraryStreamOptions } from '../library-stream.ts'
import type { Stream } from '../stream.ts'

export * from '../index.ts'
export type { LibraryDatabase, LibraryStreamOptions, MysqlDatabase, ServerDatabase } from '../library-stream.ts'

/**
 * Makes a stream of a Knex instance on PostgreSQL, on MariaDB or MySQL over mysql2, or on SQLite over better-sqlite3. Transactions are those of Knex.
 * New jobs of other processes are found by polling.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const stream = taskstream(knex({ client: 'pg', connection: url }), { database: 'postgres' })
 * await stream.transaction(async (trx) => {
 *   await trx('invoice').insert({ id: 'inv-1' })
 *   await stream.push(trx, email, { to: 'a@example.org', subject: 'Hello' })
 * })
 */
export function taskstream<Transaction extends KnexTransaction>(
  knex: KnexDatabase<Transaction>,
  options: LibraryStreamOptions<Transaction>,
): Stream<Transaction> {
  checkHas(knex, 'transaction', 'knex', "an instance of Knex, such as knex({ client: 'pg', connection })")
  return libraryStream(options, {
    postgres: (pool) => ({ adapter: fromKnex, transactions: knexTransactions(knex, pool) }),
    mysql: (pool) => ({ adapter: fromKnexMysql, transactions: knexMysqlTransactions(knex, pool) }),
    sqlite: () => ({ adapter: fromKnexSqlite, transactions: knexSqliteTransactions(knex) }),
  })
}
