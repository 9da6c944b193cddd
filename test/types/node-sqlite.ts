/** Handlers and work are given the types of this driver: compiled, never run. */
import type { DatabaseSync } from 'node:sqlite'
import { TaskDecision } from '@taskstream/task-api'
import { TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromNodeSqlite, openNodeSqlite, sqlite, sqliteTransactions } from '@taskstream/task-sql/node-sqlite'

declare function store(database: DatabaseSync): void

const transactions = sqliteTransactions(await openNodeSqlite(':memory:'))
const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromNodeSqlite })
await transactions((database) => {
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
