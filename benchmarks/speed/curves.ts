/**
 * The milliseconds of a poll of a hundred tasks, as the number of ready tasks, ended tasks or topics grows. Each figure is a
 * median over polls of a repository that has polled before. Every poll is rolled back, so that each finds the same tasks.
 */
import { TaskDecision } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import { pgTransactions } from '@taskstream/task-sql/pg'
import type { PgPoolClient } from '@taskstream/task-sql/pg'
import { input } from './backlog-task.ts'
import { copyRow } from './copies.ts'
import { poolOf, withDatabase } from './database.ts'
import type { Connection } from './database.ts'
import { median } from './statistics.ts'
import { repository } from './product.ts'
import { fresh } from './scenario.ts'
import type { Figures, Scenario } from './scenario.ts'

const size = 100
const polls = 50
const undone = new Error('undone')

interface Subject {
  readonly connection: Connection
  readonly tasks: SqlTaskRepository<PgPoolClient>
  readonly transactions: TransactionSource<PgPoolClient>
}

/** Thousands of rows of each step: up to a million, or ten million in a full run. */
const steps = (most: number): number[] => [1, 10, 100, 1_000, 10_000].filter((thousands) => thousands * 1_000 <= most)

export const curves: Scenario['subjects'] = fresh({
  taskstream: async (server, { backlog, history }) => {
    const figures: Record<string, number> = {}
    for (const thousands of steps(backlog)) {
      figures[`backlog of ${thousands}k`] = await on(server, async (subject) => {
        await fill(subject, 'mail', { count: thousands * 1_000 })
        return pollMs(subject, 'mail')
      })
    }
    for (const thousands of steps(history)) {
      figures[`history of ${thousands}k`] = await on(server, async (subject) => {
        await fill(subject, 'mail', { count: thousands * 1_000, ended: true })
        await drain(subject, 'mail')
        await push(subject, 'mail', size * 2)
        return pollMs(subject, 'mail')
      })
    }
    for (const topics of [1, 10, 100, 1_000]) {
      figures[`${topics} topics`] = await on(server, async (subject) => {
        for (let index = 0; index < topics; index++) await push(subject, `topic-${index}`, size * 2)
        return pollMs(subject, `topic-${topics - 1}`)
      })
    }
    return figures satisfies Figures
  },
})

/** Each step has a database of its own, so that its rows do not affect other steps. */
async function on(server: Connection, measure: (subject: Subject) => Promise<number>): Promise<number> {
  return withDatabase(server, async (connection) => {
    const pool = poolOf(connection, 2)
    const tasks = repository()
    const transactions = pgTransactions(pool)
    await tasks.migrate(transactions)
    await transactions((transaction) => tasks.register(transaction))
    const figure = await measure({ connection, tasks, transactions })
    await pool.end()
    return figure
  })
}

async function push({ tasks, transactions }: Subject, topic: string, count: number): Promise<void> {
  const creations = Array.from({ length: count }, (_, index) => ({ identifier: `customer ${index}`, input }))
  await transactions(async (transaction) => {
    await tasks.initialize(transaction, topic)
    await tasks.push(transaction, topic, creations)
  })
}

/** Fills a topic with copies of a pushed task, or of an ended one. */
async function fill(
  subject: Subject,
  topic: string,
  { count, ended = false }: { count: number; ended?: boolean },
): Promise<void> {
  await push(subject, topic, 1)
  if (ended) await drain(subject, topic)
  const instead = { sequence: `nextval('taskstream.task_sequence')`, identifier: `'customer ' || n` }
  await copyRow(subject.connection, { table: 'taskstream.task', count: count - 1, instead })
}

/** Polls and completes all tasks, until the low watermark has been stored. */
async function drain({ tasks, transactions }: Subject, topic: string): Promise<void> {
  for (let empty = 0; empty < 3;) {
    const held = await transactions((transaction) => tasks.poll(transaction, topic, { size }))
    if (held.length === 0) empty++
    const decisions = new Map(held.map((task) => [task, TaskDecision.success()]))
    await transactions((transaction) => tasks.complete(transaction, topic, decisions))
    // A poll that takes nothing does not move the low watermark, so each further round has one task.
    if (held.length === 0) await transactions((transaction) => tasks.push(transaction, topic, 'last'))
  }
}

async function pollMs({ tasks, transactions }: Subject, topic: string): Promise<number> {
  const times: number[] = []
  for (let index = -10; index < polls; index++) {
    const started = performance.now()
    const work = transactions(async (transaction) => {
      const held = await tasks.poll(transaction, topic, { size })
      if (held.length !== size) throw new Error(`${held.length} tasks were polled instead of ${size}`)
      if (index >= 0) times.push(performance.now() - started)
      throw undone
    })
    await work.catch((error: unknown) => {
      if (error !== undone) throw error
    })
  }
  return median(times)
}
