import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromNodeSqlite, openNodeSqlite, sqlite, sqliteTransactions } from '@taskstream/task-sql/node-sqlite'
import { taskConsole } from '@taskstream/task-console'

const database = await openNodeSqlite(':memory:')
const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromNodeSqlite })
const transactions = sqliteTransactions(database)
await tasks.migrate(transactions)
await transactions((transaction) => tasks.initialize(transaction, 'invoices'))

export const console = taskConsole({
  repository: tasks,
  transactions,
  basePath: '/ops/tasks',
  // Your program knows who asks: by its session, or by a header of the proxy that has asked for a password.
  authorize: (request) => {
    const name = request.headers.get('x-user')
    return name === null ? undefined : { name, role: 'operator' }
  },
})
