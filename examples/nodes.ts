import { setTimeout as sleep } from 'node:timers/promises'
import { eachTask, TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromBetterSqlite3, openBetterSqlite3, sqlite, sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'

const db = await openBetterSqlite3(':memory:')
const transactions = sqliteTransactions(db)

const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromBetterSqlite3, owner: 'worker-1', release: '4.2.1' })
await tasks.migrate(transactions)
const node = new TaskNode({
  repository: tasks,
  transactions,
  listener: { onQuiet: ({ quiet }) => console.log(quiet ? 'takes no more tasks' : 'takes tasks again') },
})
node.process('invoices', { size: 100, handler: eachTask(() => {}) })
await node.start()
// The first report comes right after the start.
while (tasks.nodes(db).every(({ report }) => report === undefined)) await sleep(10)

for (const { name, life, release, report } of tasks.nodes(db, { topic: 'invoices' })) {
  console.log(name, life, release)
  for (const { topic, busy, concurrency, ended, failed, error } of report?.topics ?? [])
    console.log(topic, `${busy} of ${concurrency} busy, ${ended} ended, ${failed} failed`, error?.message ?? 'well')
}

const { owner } = tasks.nodes(db, { topic: 'invoices' })[0]!
console.log('asked to be quiet:', tasks.quiet(db, owner))

await node.stop()
console.log(tasks.nodes(db)[0]?.life)
