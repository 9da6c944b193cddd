import { TaskDecision } from '@taskstream/task-api'
import { eachTask, TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromBetterSqlite3, openBetterSqlite3, sqlite, sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'

const db = await openBetterSqlite3(':memory:')
const transactions = sqliteTransactions(db)
const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromBetterSqlite3 })

await tasks.migrate(transactions)
db.exec('create table invoice (id text)')
db.transaction(() => tasks.initialize(db, 'invoices')).immediate()

// Push inside your own transaction, so that either both the invoice and its task are committed, or neither.
db.transaction(() => {
  db.prepare('insert into invoice values (?)').run('inv-1')
  tasks.push(db, 'invoices', [{ identifier: 'inv-1', input: 'a@example.org' }])
}).immediate()

// Let a node poll, handle and complete.
const sent = Promise.withResolvers<void>()
const node = new TaskNode({ repository: tasks, transactions, listener: { onComplete: () => sent.resolve() } })
node.process('invoices', {
  handler: eachTask((task) => {
    console.log(`sending ${task.identifier} to ${task.input}`)
    return TaskDecision.success('sent')
  }),
})
await node.start()
await sent.promise
await node.stop()
console.log(tasks.page(db, 'invoices').map(({ identifier, state, output }) => `${identifier} ${state}: ${output}`))
