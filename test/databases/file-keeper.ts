/** A process that keeps a database file of libSQL locked until its parent tells it to commit. */
import { once } from 'node:events'
import { createClient } from '@libsql/client'
import { libsqlTransactions } from '@taskstream/task-sql/libsql'

const client = createClient({ url: process.argv[2] ?? '' })
await libsqlTransactions(client)(async (transaction) => {
  await transaction.execute({ sql: 'insert into written values (?)', args: ['keeper'] })
  process.send?.('locked')
  await once(process, 'message')
})
client.close()
process.disconnect()
