/** PGlite: PostgreSQL in this process, over its only connection. */
import { PGlite } from '@electric-sql/pglite'
import type { TransactionSource } from '@taskstream/task-api'
import type { SqlAdapter } from '@taskstream/task-sql'
import { fromPglite, pgliteTransactions, postgres } from '@taskstream/task-sql/pglite'
import type { AnyTransaction } from '@taskstream/task-testing/suite'
import { repositories } from './subject.ts'
import type { Subject } from './subject.ts'

let cluster: Promise<Blob> | undefined

/** To load an empty cluster takes a third of the time that making one does. */
export async function openPgliteDatabase(): Promise<PGlite> {
  cluster ??= makeCluster()
  return PGlite.create({ loadDataDir: await cluster })
}

async function makeCluster(): Promise<Blob> {
  const database = await PGlite.create()
  const dumped = await database.dumpDataDir('none')
  await database.close()
  return dumped
}

/** A database of its own, in memory. */
export async function createPglite(): Promise<Subject> {
  const database = await openPgliteDatabase()
  const transactions = pgliteTransactions(database) as TransactionSource<AnyTransaction>
  const at = ':memory:'
  return {
    engine: 'postgres',
    location: { subject: 'pglite', at },
    writers: 1,
    connections: 1,
    transactions,
    owner: { transactions, at },
    tasks: repositories(postgres(), fromPglite as SqlAdapter<AnyTransaction, 'async'>),
    execute: async (transaction, statement) => fromPglite.execute(transaction, statement),
    session: async () => ({
      transaction: database,
      begin: async () => void (await database.exec('begin')),
      commit: async () => void (await database.exec('commit')),
      rollback: async () => void (await database.exec('rollback')),
      // It is the only one, and the subject's.
      close: async () => {},
    }),
    [Symbol.asyncDispose]: () => database.close(),
  }
}
