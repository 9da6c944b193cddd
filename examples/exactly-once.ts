import { TaskDecision } from '@taskstream/task-api'
import { TaskNode } from '@taskstream/task-processor'
import type { BatchHandler } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromBetterSqlite3, openBetterSqlite3, sqlite, sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'
import type { BetterSqlite3Connection } from '@taskstream/task-sql/better-sqlite3'

const db = await openBetterSqlite3(':memory:')
const transactions = sqliteTransactions(db)
const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromBetterSqlite3 })
await tasks.migrate(transactions)
db.exec('create table booking (account text, amount integer)')
db.transaction(() => {
  for (const topic of ['bookings', 'fast-bookings']) {
    tasks.initialize(db, topic)
    for (const identifier of ['a', 'b', 'c']) tasks.push(db, topic, { identifier, input: '100' })
  }
}).immediate()

const book: BatchHandler<BetterSqlite3Connection> = async (batch, { complete }) => {
  // Work that takes long is done outside any transaction. It may happen twice.
  const amounts = new Map(batch.map((task) => [task, Number(task.input)]))
  await complete((database, held) => {
    // These writes and the completion are one transaction: both are committed, or neither. `held` are the tasks that are still
    // held.
    const insert = database.prepare('insert into booking values (?, ?)')
    for (const task of held) insert.run(task.identifier, amounts.get(task))
    return new Map(held.map((task) => [task, TaskDecision.success()]))
  })
}

const done = Promise.withResolvers<void>()
let completed = 0
const onComplete = ({ completion }: { completion: { completed: readonly unknown[] } }): void => {
  completed += completion.completed.length
  if (completed === 6) done.resolve()
}
await using node = new TaskNode({ repository: tasks, transactions, listener: { onComplete } })
node.process('bookings', { handler: book })
node.process('fast-bookings', { handler: book, mode: 'transactional', concurrency: 1 })
await node.start()

await done.promise
console.log(db.prepare('select account, sum(amount) as amount from booking group by account order by account').all())
