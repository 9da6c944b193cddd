import { setTimeout as delay } from 'node:timers/promises'
import { eachTask, stopOnSignal, TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromBetterSqlite3, openBetterSqlite3, sqlite, sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'

const db = await openBetterSqlite3(':memory:')
const transactions = sqliteTransactions(db)
const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromBetterSqlite3 })
await tasks.migrate(transactions)
db.transaction(() => tasks.initialize(db, 'reports')).immediate()
db.transaction(() => tasks.push(db, 'reports', ['short', 'long', 'next'])).immediate()

const node = new TaskNode({ repository: tasks, transactions })
node.process('reports', {
  handler: eachTask(async ({ identifier }, { signal }) => {
    if (identifier !== 'long') return
    // The process is asked to end while a handler is busy, as by a deployment.
    process.kill(process.pid, 'SIGTERM')
    await delay(60_000, undefined, { signal })
  }),
})
await node.start()

stopOnSignal(node, {
  graceMs: 500, // handlers may finish
  abortMs: 500, // then their signal aborts, and they may still clean up
  onStopped: ({ finished, returned, abandoned }) => {
    const names = (held: readonly { identifier: string }[]): string =>
      held.map(({ identifier }) => identifier).join(', ') || 'none'
    console.log(`finished: ${names(finished)}; returned: ${names(returned)}; abandoned: ${names(abandoned)}`)
    db.close()
  },
})
