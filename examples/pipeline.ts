import { join } from 'node:path'
import { supplementToken } from '@taskstream/task-api'
import { composite, pushing, TaskNode } from '@taskstream/task-processor'
import type { TaskContext } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromBetterSqlite3, openBetterSqlite3, sqlite, sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'
import type { BetterSqlite3Database } from '@taskstream/task-sql/better-sqlite3'
import { findPackages, hashFiles, licenceOf, readManifest } from './demo/packages.ts'
import type { Manifest } from './demo/packages.ts'

const db = await openBetterSqlite3(':memory:')
const transactions = sqliteTransactions(db)
const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromBetterSqlite3 })

// Steps pass these values on to later steps.
const Manifests = supplementToken<Manifest>('manifest')
const Licences = supplementToken<string>('licence')
const Hashes = supplementToken<{ files: number; hash: string }>('hash')

// The transaction that completes a batch also writes the audit's own table and pushes tasks to another topic.
const store: TaskContext<BetterSqlite3Database> = {
  name: 'store',
  apply: (transaction, decisions, supplement) => {
    const insert = transaction.prepare('insert into audit values (?, ?, ?, ?)')
    for (const [task, { continued }] of decisions) {
      if (!continued) continue
      const { files, hash } = supplement.require(Hashes, task)
      insert.run(task.identifier, supplement.require(Licences, task), files, hash)
    }
  },
}
const outbox = pushing({ repository: tasks })

const pipeline = composite({ contexts: [store, outbox] })
  .each('manifest', ({ input = '' }) => readManifest(input), { provides: Manifests })
  .each('licence', (task, supplement) => licenceOf(supplement.require(Manifests, task)), {
    after: ['manifest'],
    provides: Licences,
  })
  .each('hash', ({ input = '' }) => hashFiles(input), { after: ['manifest'], provides: Hashes, concurrency: 4 })
  .batch(
    'report',
    (batch, supplement) => {
      const unusual = batch.filter((task) => !/MIT|ISC|BSD|Apache/.test(supplement.require(Licences, task)))
      supplement.require(outbox).pushByTask(unusual, 'review')
    },
    { after: ['licence', 'hash'] },
  )

const root = join(import.meta.dirname, '..')
const packages = (await findPackages(root)).map((folder) => ({ identifier: folder.slice(root.length + 1), input: folder }))
await tasks.migrate(transactions)
db.exec('create table audit (package text, licence text, files integer, hash text)')
await transactions(() => {
  for (const topic of ['audit', 'review']) tasks.initialize(db, topic)
  tasks.push(db, 'audit', packages)
})

const done = Promise.withResolvers<void>()
let left = packages.length
const node = new TaskNode({
  repository: tasks,
  transactions,
  listener: { onComplete: ({ completion }) => void ((left -= completion.completed.length) || done.resolve()) },
})
node.process('audit', { handler: pipeline, size: 16 })
await node.start()
await done.promise
await node.stop()

console.log(pipeline.toMermaid())
console.table(
  db.prepare('select licence, count(*) as packages, sum(files) as files from audit group by licence order by 2 desc').all(),
)
console.log(`${tasks.page(db, 'review').length} to be reviewed`)
