/** Handlers and work are given the types of this driver: compiled, never run. */
import { TaskDecision } from '@taskstream/task-api'
import { TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromBetterSqlite3, openBetterSqlite3, sqlite, sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'
import type { BetterSqlite3Connection } from '@taskstream/task-sql/better-sqlite3'

declare function store(database: BetterSqlite3Connection): void

const transactions = sqliteTransactions(await openBetterSqlite3(':memory:'))
const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromBetterSqlite3 })
await transactions((database) => {
  database.transaction(() => database.prepare('select 1').get()).immediate()
  store(database)
  tasks.push(database, 'invoices', 'inv-1')
})
const node = new TaskNode({ repository: tasks, transactions })
node.process('invoices', {
  handler: async (_batch, { complete }) => {
    await complete((database, held) => {
      database.prepare('select 1').get()
      store(database)
      return new Map(held.map((task) => [task, TaskDecision.success()]))
    })
  },
})
