/** PGlite: each database that is opened is one of its own. */
import type { Transaction } from '@electric-sql/pglite'
import { fromPglite, pgliteTransactions, postgres } from '@taskstream/task-sql/pglite'
import { openPgliteDatabase } from '../engines/pglite.ts'
import { takeAsync } from './driver.ts'
import type { Driver, OpenDriver } from './driver.ts'

async function openPglite(): Promise<OpenDriver> {
  const database = await openPgliteDatabase()
  return {
    dialect: postgres(),
    adapter: fromPglite,
    transactions: pgliteTransactions(database),
    transact: (steps) => database.transaction((transaction) => takeAsync(steps(transaction))),
    insertInvoice: (transaction: Transaction, id) => transaction.query('insert into invoice values ($1)', [id]),
    invoices: async () => (await database.query<{ id: string }>('select id from invoice order by id')).rows.map(({ id }) => id),
    close: () => database.close(),
  }
}

export const pgliteDrivers: readonly Driver[] = [{ name: 'PGlite', open: openPglite }]
