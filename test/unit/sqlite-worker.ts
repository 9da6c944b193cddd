/** A worker on a SQLite file, which is in the midst of a transaction for most of the time. */
import { setTimeout as delay } from 'node:timers/promises'
import { eachTask, TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromBetterSqlite3, openBetterSqlite3, sqlite, sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'

const database = await openBetterSqlite3(process.env['DATABASE_FILE']!)
const repository = sqlTaskRepository({ dialect: sqlite(), adapter: fromBetterSqlite3 })
const node = new TaskNode({ repository, transactions: sqliteTransactions(database) })
// While a handler waits, its transaction is the file's one writer.
node.process('invoices', { mode: 'transactional', concurrency: 1, size: 1, idleMs: 5, handler: eachTask(() => delay(60)) })
await node.start()
// A worker does not outlive its test.
process.on('disconnect', () => process.exit())
process.send?.('started')
