/** Drains with taskstream in leased mode, in a process that loads no other subject. */
import { eachTask, TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromPg, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import pg from 'pg'
import { topic } from './backlog-task.ts'
import type { DrainBacklog } from './memory-worker.ts'

export const drainBacklog: DrainBacklog = async (connection, expected) => {
  const pool = new pg.Pool({ ...connection, max: 4 })
  const all = Promise.withResolvers<void>()
  let completed = 0
  const node = new TaskNode({
    repository: sqlTaskRepository({ dialect: postgres(), adapter: fromPg }),
    transactions: pgTransactions(pool),
    listener: {
      onComplete: ({ completion }) => {
        completed += completion.completed.length
        if (completed >= expected) all.resolve()
      },
    },
  })
  node.process(topic, { size: 1000, handler: eachTask(() => {}) })
  await node.start()
  await all.promise
  await node.stop()
  await pool.end()
}
