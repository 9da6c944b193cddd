/** Handlers and work are given the types of this driver: compiled, never run. */
import { TaskDecision } from '@taskstream/task-api'
import { TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromPg, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import type pg from 'pg'

declare const pool: pg.Pool
declare function store(client: pg.PoolClient): Promise<void>

const transactions = pgTransactions(pool)
const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromPg })
await transactions(async (client) => {
  const { rows } = await client.query<{ id: string }>('select id from invoice')
  const id: string | undefined = rows[0]?.id
  await store(client)
  await tasks.push(client, 'invoices', id ?? '')
})
const node = new TaskNode({ repository: tasks, transactions })
node.process('invoices', {
  handler: async (_batch, { complete }) => {
    await complete(async (client, held) => {
      await client.query<{ id: string }>('select id from invoice')
      await store(client)
      return new Map(held.map((task) => [task, TaskDecision.success()]))
    })
  },
})
