import {
  fromPrisma,
  fromPrismaMysql,
  fromPrismaSqlite,
  prismaMysqlTransactions,
  prismaSqliteTransactions,
  prismaTransactions,
} from '@taskstream/task-sql/prisma'
import type { PrismaDatabase, PrismaNesting, PrismaSqliteDatabase, PrismaTransaction } from '@taskstream/task-sql/prisma'
import { checkHas } from '../check-has.ts'
import { libraryStream } from '../library-stream.ts'
import type { LibraryStreamOptions, MysqlDatabase } from '../library-stream.ts'
import type { Stream } from '../stream.ts'

export * from '../index.ts'
export type { LibraryDatabase, LibraryStreamOptions, MysqlDatabase, ServerDatabase } from '../library-stream.ts'

/**
 * Makes a stream of a Prisma client over `@prisma/adapter-pg`, `@prisma/adapter-mariadb` or `@prisma/adapter-better-sqlite3`. Transactions are those of
 * Prisma, which ends each after its `timeout`, five seconds by default. On SQLite the stream needs the client for itself, as the client has one
 * connection; on MariaDB and MySQL Prisma must be 7.5 or later. New jobs of other processes are found by polling.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const stream = taskstream(new PrismaClient({ adapter: new PrismaPg({ connectionString }) }), { database: 'postgres' })
 * await stream.transaction(async (tx) => {
 *   await tx.invoice.create({ data: { id: 'inv-1' } })
 *   await stream.push(tx, email, { to: 'a@example.org', subject: 'Hello' })
 * })
 */
export function taskstream<Transaction extends PrismaTransaction>(
  prisma: PrismaDatabase<Transaction>,
  options: LibraryStreamOptions<Transaction, 'postgres'>,
): Stream<Transaction>
export function taskstream<Transaction extends PrismaTransaction & PrismaNesting<Transaction>>(
  prisma: PrismaDatabase<Transaction>,
  options: LibraryStreamOptions<Transaction, MysqlDatabase>,
): Stream<Transaction>
export function taskstream<Transaction extends PrismaTransaction>(
  prisma: PrismaSqliteDatabase<Transaction>,
  options: LibraryStreamOptions<Transaction, 'sqlite'>,
): Stream<Transaction>
export function taskstream<Transaction extends PrismaTransaction & PrismaNesting<Transaction>>(
  prisma: PrismaDatabase<Transaction> | PrismaSqliteDatabase<Transaction>,
  options: LibraryStreamOptions<Transaction>,
): Stream<Transaction> {
  checkHas(prisma, '$transaction', 'prisma', 'a client of Prisma, such as new PrismaClient({ adapter })')
  const onServer = prisma as PrismaDatabase<Transaction>
  return libraryStream(options, {
    postgres: (pool) => ({ adapter: fromPrisma, transactions: prismaTransactions(onServer, pool) }),
    mysql: (pool) => ({ adapter: fromPrismaMysql, transactions: prismaMysqlTransactions(onServer, pool) }),
    sqlite: () => ({
      adapter: fromPrismaSqlite,
      transactions: prismaSqliteTransactions(prisma as PrismaSqliteDatabase<Transaction>),
    }),
  })
}
