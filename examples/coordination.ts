import { DatabaseSync } from 'node:sqlite'
import { coordinated, Leader } from '@taskstream/task-coordination'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromNodeSqlite, sqliteTransactions, sqlite } from '@taskstream/task-sql/node-sqlite'

const db = new DatabaseSync(':memory:')
const repository = sqlTaskRepository({ dialect: sqlite(), adapter: fromNodeSqlite })
const transactions = sqliteTransactions(db)
db.exec('create table bill (id integer primary key, sent_in integer)')
db.exec('insert into bill (id) values (1), (2), (3)')

const leader = new Leader({ repository, transactions, groupId: 'billing', taskId: 'node-1' })
await leader.start()
const sent = await leader.run(async ({ term, signal, transaction }) => {
  for (let id = 1; id <= 3 && !signal.aborted; id++)
    await transaction((tx) => tx.prepare('update bill set sent_in = ? where id = ?').run(term, id))
  return 'all sent'
})
console.log(sent)

const standby = new Leader({
  repository,
  transactions,
  groupId: 'billing',
  taskId: 'node-2',
  listener: { onElected: ({ taskId, term }) => console.log(`${taskId} leads in term ${term}`) },
})
await standby.start()
await leader.stop()
await standby.run(() => {})
await standby.stop()

const reported = Promise.withResolvers<void>()
const listener = coordinated(
  { trigger: { intervalMs: 60_000, onError: 'log-and-continue' } },
  { repository, transactions, groupId: 'reports', taskId: 'node-1' },
)
listener.attach(async ({ count, signal }) => {
  await listener.leader.transaction((tx) => tx.prepare('delete from bill where sent_in is not null').run())
  console.log(`report ${count}, ${signal.aborted ? 'too late' : 'in time'}`)
  reported.resolve()
}, 'report')
await listener.start()
await reported.promise
await listener.gracefulStop()
