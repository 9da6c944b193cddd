/** taskstream: a plain topic, a node with the listener of PostgreSQL, and effects in the completing transaction. */
import { setTimeout as sleep } from 'node:timers/promises'
import { TaskDecision } from '@taskstream/task-api'
import { TaskNode } from '@taskstream/task-processor'
import type { BatchHandler } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromPg, pgListener, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import pg from 'pg'
import { topic } from '../speed/backlog-task.ts'
import { poolOf } from '../speed/database.ts'
import { repository } from '../speed/product.ts'
import { batches, effectText, effectValues, poolSize, workMs } from './system.ts'
import type { Job, System } from './system.ts'

const handler: BatchHandler<pg.PoolClient> = async (_, { complete }) => {
  await sleep(workMs)
  await complete(async (transaction, held) => {
    const jobs = held.map(({ input, attempt }) => ({ ...(JSON.parse(input!) as Job), attempt }))
    await transaction.query(effectText, effectValues(jobs))
    return new Map(held.map((task) => [task, TaskDecision.success()]))
  })
}

export function taskstream(mode: 'leased' | 'transactional'): System {
  return {
    schema: 'taskstream',
    table: 'taskstream.task',
    left: `select count(*)::int from taskstream.task where completed is null`,
    prepare: async (connection) => {
      const pool = poolOf(connection, 1)
      const tasks = repository()
      const transactions = pgTransactions(pool)
      await tasks.migrate(transactions)
      await transactions((transaction) => tasks.initialize(transaction, topic))
      await pool.end()
    },
    open: (connection) => {
      const transactions = pgTransactions(poolOf(connection, 10))
      const tasks = repository()
      const push = (jobs: readonly Job[]): Promise<unknown> => {
        const creations = jobs.map(({ id, pushed }) => ({ identifier: `job ${id}`, input: JSON.stringify({ id, pushed }) }))
        return transactions((transaction) => tasks.push(transaction, topic, creations))
      }
      return Promise.resolve(push)
    },
    work: async (connection, { error, fatal }, { lease, name: owner, batchSize }) => {
      const node = new TaskNode({
        repository: sqlTaskRepository({ dialect: postgres(), adapter: fromPg, owner }),
        transactions: pgTransactions(poolOf(connection, poolSize)),
        notifier: pgListener(() => new pg.Client(connection)),
        ...lease,
        listener: { onError: (event) => error(event.error), onFatal: (event) => fatal(event.error) },
      })
      node.process(topic, { handler, mode, size: batchSize, concurrency: batches })
      await node.start()
    },
  }
}
