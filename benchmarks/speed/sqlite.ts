/** Pushes and drains on a SQLite file, beside prepared statements on a plain table in transactions of the same size. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eachTask, TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import { fromBetterSqlite3, openBetterSqlite3, sqlite, sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'
import type { BetterSqlite3Connection } from '@taskstream/task-sql/better-sqlite3'
import { input, topic } from './backlog-task.ts'
import { rateOf } from './cost.ts'
import type { Rate } from './cost.ts'
import type { Prepare, Scenario } from './scenario.ts'

const batch = 1000

type Repository = SqlTaskRepository<BetterSqlite3Connection, 'sync'>

/** Each measurement has a file of its own. */
function onFile(measure: (database: BetterSqlite3Connection, count: number) => Promise<Rate>): Prepare {
  return ({ scale }) =>
    Promise.resolve({
      measure: async () => {
        const folder = mkdtempSync(join(tmpdir(), 'taskstream-speed-'))
        const database = await openBetterSqlite3(join(folder, 'tasks.db'), { synchronous: 'normal' })
        try {
          return await measure(database, scale.batched)
        } finally {
          database.close()
          rmSync(folder, { recursive: true, force: true })
        }
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    })
}

export const sqlitePush: Scenario['subjects'] = {
  taskstream: onFile(async (database, count) => {
    const tasks = await prepare(database)
    return rateOf(null, count, () => push(tasks, database, count))
  }),
  limit: onFile(async (database, count) => {
    createPlain(database)
    return rateOf(null, count, () => Promise.resolve(insertPlain(database, count)))
  }),
}

export const sqliteDrain: Scenario['subjects'] = {
  taskstream: onFile(async (database, count) => {
    const tasks = await prepare(database)
    await push(tasks, database, count)
    const all = Promise.withResolvers<void>()
    let completed = 0
    const node = new TaskNode({
      repository: tasks,
      transactions: sqliteTransactions(database),
      listener: {
        onComplete: ({ completion }) => {
          completed += completion.completed.length
          if (completed === count) all.resolve()
        },
      },
    })
    node.process(topic, { size: batch, handler: eachTask(() => {}) })
    const rate = await rateOf(null, count, async () => {
      await node.start()
      await all.promise
    })
    await node.stop()
    return rate
  }),
  limit: onFile(async (database, count) => {
    createPlain(database)
    insertPlain(database, count)
    return rateOf(null, count, () => Promise.resolve(drainPlain(database, count)))
  }),
}

async function prepare(database: BetterSqlite3Connection): Promise<Repository> {
  const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromBetterSqlite3 })
  const transactions = sqliteTransactions(database)
  await tasks.migrate(transactions)
  await transactions((transaction) => tasks.initialize(transaction, topic))
  return tasks
}

async function push(tasks: Repository, database: BetterSqlite3Connection, count: number): Promise<void> {
  const transactions = sqliteTransactions(database)
  for (let from = 0; from < count; from += batch) {
    const creations = Array.from({ length: batch }, (_, index) => ({ identifier: `customer ${from + index}`, input }))
    await transactions((transaction) => tasks.push(transaction, topic, creations))
  }
}

function createPlain(database: BetterSqlite3Connection): void {
  database.exec('create table plain (sequence integer primary key, identifier text, input text, state int)')
}

function insertPlain(database: BetterSqlite3Connection, count: number): void {
  const insert = database.prepare('insert into plain (identifier, input, state) values (?, ?, 1)')
  for (let from = 0; from < count; from += batch) {
    database.transaction(() => {
      for (let index = from; index < from + batch; index++) insert.run(`customer ${index}`, input)
    })()
  }
}

/** Takes rows in one transaction and completes them in another, as a lease does. */
function drainPlain(database: BetterSqlite3Connection, count: number): void {
  const select = database.prepare('select sequence, identifier, input from plain where sequence > ? order by sequence limit 1000')
  const take = database.prepare('update plain set state = 0 where sequence = ?')
  const complete = database.prepare('update plain set state = 6 where sequence = ?')
  let last = 0
  for (let done = 0; done < count; done += batch) {
    let rows: readonly { readonly sequence: number }[] = []
    database.transaction(() => {
      rows = select.all(last) as typeof rows
      for (const { sequence } of rows) take.run(sequence)
    })()
    database.transaction(() => {
      for (const { sequence } of rows) complete.run(sequence)
    })()
    last = rows.at(-1)?.sequence ?? last
  }
}
