// Every second a timer submits a housekeeping task, whose handler deletes old invitations.
import { DatabaseSync } from 'node:sqlite'
import { eachTask, TaskNode } from '@taskstream/task-processor'
import { occurrenceOf, PeriodicScheduler, periodicTasks } from '@taskstream/task-scheduler'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromNodeSqlite, sqlite, sqliteTransactions } from '@taskstream/task-sql/node-sqlite'

const database = new DatabaseSync(':memory:')
const transactions = sqliteTransactions(database)
const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromNodeSqlite })
await tasks.migrate(transactions)
database.exec('create table invitation (name text, age integer)')
database.exec(`insert into invitation values ('ann', 3), ('ben', 45), ('eve', 90)`)

const timers = periodicTasks(tasks)
await transactions((tx) => {
  tasks.initialize(tx, 'housekeeping')
  timers.schedule(tx, { id: 'invitations', timer: '*:*:*', topic: 'housekeeping', input: '{"days":30}', maxCount: 2 })
})

const done = Promise.withResolvers<void>()
let runs = 0
const node = new TaskNode({ repository: tasks, transactions })
node.process('housekeeping', {
  handler: eachTask((task) => {
    const { days } = JSON.parse(task.input ?? '{}') as { days: number }
    const { changes } = database.prepare('delete from invitation where age > ?').run(days)
    console.log(`${occurrenceOf(task)?.id}: ${changes} forgotten`)
    if (++runs === 2) done.resolve()
  }),
})
await node.start()
await using scheduler = new PeriodicScheduler({ repository: tasks, transactions })
await scheduler.start()
await done.promise
await node.stop()
