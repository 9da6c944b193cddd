/** Makes backlogs of millions of tasks from one pushed task. */
import { pgTransactions } from '@taskstream/task-sql/pg'
import { input, topic } from './backlog-task.ts'
import { openBoss } from './boss.ts'
import { copyRow } from './copies.ts'
import { poolOf } from './database.ts'
import type { Connection } from './database.ts'
import { graphile } from './graphile.ts'
import { prepareTaskstream } from './pushes.ts'

/** Pushes one task as the product does, and copies its row. The copies are ready like tasks that were pushed and never polled. */
export async function fillTaskstream(connection: Connection, count: number): Promise<void> {
  const pool = poolOf(connection, 1)
  const tasks = await prepareTaskstream(pool)
  await pgTransactions(pool)((transaction) => tasks.push(transaction, topic, { identifier: 'customer 0', input }))
  await pool.end()
  const instead = { sequence: `nextval('taskstream.task_sequence')`, identifier: `'customer ' || n` }
  await copyRow(connection, { table: 'taskstream.task', count: count - 1, instead })
}

export async function fillBoss(connection: Connection, count: number): Promise<void> {
  const boss = await openBoss(connection)
  await boss.send(topic, JSON.parse(input) as object)
  await boss.stop({ graceful: false })
  // pg-boss polls in the order of creation.
  const instead = { id: 'gen_random_uuid()', created_on: `one.created_on + n * interval '1 microsecond'` }
  await copyRow(connection, { table: 'pgboss.job_common', count: count - 1, instead })
}

export async function fillGraphile(connection: Connection, count: number): Promise<void> {
  const pool = poolOf(connection, 1)
  const utils = await graphile(pool)
  await utils.addJob(topic, JSON.parse(input))
  await utils.release()
  await pool.end()
  await copyRow(connection, { table: 'graphile_worker._private_jobs', count: count - 1, instead: {} })
}
