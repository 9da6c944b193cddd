/** libSQL on a file. */
import { createClient } from '@libsql/client'
import type { Transaction } from '@libsql/client'
import { fromLibsql, libsqlTransactions, sqlite } from '@taskstream/task-sql/libsql'
import { takeAsync } from './driver.ts'
import type { Driver, OpenDriver } from './driver.ts'

async function openLibsql(file: string): Promise<OpenDriver> {
  const client = createClient({ url: `file:${file}` })
  await client.execute('pragma journal_mode = wal')
  return {
    dialect: sqlite(),
    adapter: fromLibsql,
    transactions: libsqlTransactions(client, { busyTimeoutMs: 100 }),
    transact: async (steps) => {
      const transaction = await client.transaction('write')
      try {
        await takeAsync(steps(transaction))
        await transaction.commit()
      } finally {
        // It rolls back what was not committed.
        transaction.close()
      }
    },
    insertInvoice: (transaction: Transaction, id) => transaction.execute({ sql: 'insert into invoice values (?)', args: [id] }),
    invoices: async () => (await client.execute('select id from invoice order by id')).rows.map(({ id }) => String(id)),
    close: async () => client.close(),
  }
}

export const libsqlDrivers: readonly Driver[] = [{ name: 'libSQL', tellsEnd: true, open: openLibsql }]
