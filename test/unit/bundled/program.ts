/** A program that is bundled with its packages: its handler computes for longer than the lease. */
import { eachTask, TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromNodeSqlite, openNodeSqlite, sqlite, sqliteTransactions } from '@taskstream/task-sql/node-sqlite'

const leaseMs = 6_000
const database = await openNodeSqlite(process.env['DATABASE_FILE']!)
const transactions = sqliteTransactions(database)
const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromNodeSqlite })
await tasks.migrate(transactions)
await transactions((transaction) => {
  tasks.initialize(transaction, 'sums')
  tasks.push(transaction, 'sums', 'a')
})
const done = Promise.withResolvers<void>()
const node = new TaskNode({
  repository: tasks,
  transactions,
  heartbeatIntervalMs: 500,
  leaseMs,
  heartbeatThread: { module: new URL(process.env['BEAT'] ?? './beat.js', import.meta.url) },
  listener: { onComplete: () => done.resolve(), onLeaseLost: () => console.log('lease lost') },
})
node.process('sums', {
  handler: eachTask(() => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1.5 * leaseMs)),
})
try {
  await node.start()
  await done.promise
  await node.stop()
  console.log(tasks.page(database, 'sums').map(({ identifier, state, attempt }) => `${identifier} ${state} ${attempt}`))
} catch (error) {
  console.log((error as { code?: unknown }).code, (error as Error).message)
}
database.close()
