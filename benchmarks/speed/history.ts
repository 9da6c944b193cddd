/**
 * A drain in a table with a long history, relative to a drain in a table without one. A tenth of the history is in the drained
 * topic before its backlog, the rest is in a thousand other topics. Both tables are made once. Each round pushes a backlog into
 * each table and drains both at the same time, in a process each.
 */
import { TaskDecision } from '@taskstream/task-api'
import { pgTransactions } from '@taskstream/task-sql/pg'
import { input, topic } from './backlog-task.ts'
import { openBoss } from './boss.ts'
import { analyze } from './backlogs.ts'
import { copyRow, tend } from './copies.ts'
import { openDatabase, poolOf } from './database.ts'
import type { Connection } from './database.ts'
import type { DrainOrder } from './drain-order.ts'
import { repository } from './product.ts'
import type { Prepare, Scale, Scenario } from './scenario.ts'
import { compare, race } from './race.ts'

const topics = 1000
const topicOf = `case when n % 10 = 0 then '${topic}' else 'topic-' || n / 10 % ${topics} end`
/** Tasks that are drained before the measurement, enough for polls to have passed the whole history. */
const warmUp = 10_000
const batch = 1000

interface Subject {
  /** Creates the tables. */
  readonly install: (connection: Connection) => Promise<void>
  /** Ends one task, and copies its row. */
  readonly finish: (connection: Connection, count: number) => Promise<void>
  readonly push: (connection: Connection, count: number) => Promise<void>
  readonly subject: DrainOrder['subject']
  /** How many tasks a round drains. */
  readonly tasks: (scale: Scale) => number
}

const taskstream: Subject = {
  install: async (connection) => {
    const pool = poolOf(connection, 1)
    await repository().migrate(pgTransactions(pool))
    await pool.end()
  },
  finish: async (connection, count) => {
    const pool = poolOf(connection, 1)
    const transactions = pgTransactions(pool)
    const tasks = repository()
    await transactions(async (transaction) => {
      for (let index = 0; index < topics; index++) await tasks.initialize(transaction, `topic-${index}`)
      await tasks.initialize(transaction, topic)
      await tasks.register(transaction)
      await tasks.push(transaction, topic, { identifier: 'customer 0', input })
    })
    const [task] = await transactions((transaction) => tasks.poll(transaction, topic))
    await transactions((transaction) => tasks.complete(transaction, topic, new Map([[task!, TaskDecision.success()]])))
    await transactions((transaction) => tasks.unregister(transaction))
    await pool.end()
    const instead = { sequence: `nextval('taskstream.task_sequence')`, topic: topicOf, identifier: `'customer ' || n` }
    await copyRow(connection, { table: 'taskstream.task', count, instead })
  },
  push: async (connection, count) => {
    const pool = poolOf(connection, 1)
    const transactions = pgTransactions(pool)
    const tasks = repository()
    await transactions((transaction) => tasks.initialize(transaction, topic))
    for (let from = 0; from < count; from += batch) {
      const creations = Array.from({ length: batch }, (_, index) => ({ identifier: `customer ${from + index}`, input }))
      await transactions((transaction) => tasks.push(transaction, topic, creations))
    }
    await pool.end()
  },
  subject: 'taskstream',
  tasks: ({ beside }) => beside / 2,
}

const pgBoss: Subject = {
  install: async (connection) => {
    const boss = await openBoss(connection)
    await boss.stop({ graceful: false })
  },
  finish: async (connection, count) => {
    const boss = await openBoss(connection)
    for (let index = 0; index < topics; index++) await boss.createQueue(`topic-${index}`)
    await boss.send(topic, JSON.parse(input) as object)
    const [job] = await boss.fetch(topic)
    await boss.complete(topic, job!.id)
    await boss.stop({ graceful: false })
    await copyRow(connection, { table: 'pgboss.job_common', count, instead: { id: 'gen_random_uuid()', name: topicOf } })
  },
  push: async (connection, count) => {
    const boss = await openBoss(connection)
    const data = JSON.parse(input) as object
    for (let from = 0; from < count; from += batch)
      await boss.insert(
        topic,
        Array.from({ length: batch }, () => ({ data })),
      )
    await boss.stop({ graceful: false })
  },
  subject: 'pg-boss',
  tasks: ({ drained }) => drained / 2,
}

/** graphile-worker is missing: it deletes a job that has ended. */
export const historyGrowth: Scenario['subjects'] = { taskstream: growth(taskstream), 'pg-boss': growth(pgBoss) }

function growth({ install, finish, push, subject, tasks }: Subject): Prepare {
  return async ({ server, scale }) => {
    const empty = await openDatabase(server)
    const grown = await openDatabase(server)
    for (const { connection } of [empty, grown]) await install(connection)
    await finish(grown.connection, scale.history)
    // A system with such a history has also polled, so both tables are drained once before the measurement.
    for (const { connection } of [empty, grown]) {
      await push(connection, warmUp)
      await race([{ subject, connection }], warmUp)
      await tend(connection)
    }
    const count = tasks(scale)
    return {
      measure: async () => {
        for (const { connection } of [empty, grown]) {
          await push(connection, count)
          await analyze(connection)
        }
        return compare(
          [
            { subject, connection: grown.connection },
            { subject, connection: empty.connection },
          ],
          count,
        )
      },
      [Symbol.asyncDispose]: async () => {
        for (const database of [empty, grown]) await database[Symbol.asyncDispose]()
      },
    }
  }
}
