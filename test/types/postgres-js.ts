/** Handlers and work are given the types of this driver: compiled, never run. */
import { TaskDecision } from '@taskstream/task-api'
import { TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromPostgresJs, postgres, postgresJsTransactions } from '@taskstream/task-sql/postgres-js'
import type postgresJs from 'postgres'

declare const sql: postgresJs.Sql
declare function store(transaction: postgresJs.TransactionSql): Promise<void>

const transactions = postgresJsTransactions(sql)
const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromPostgresJs })
await transactions(async (transaction) => {
  const [row] = await transaction<{ id: string }[]>`select id from invoice`
  const id: string | undefined = row?.id
  await store(transaction)
  await tasks.push(transaction, 'invoices', id ?? '')
})
const node = new TaskNode({ repository: tasks, transactions })
node.process('invoices', {
  handler: async (_batch, { complete }) => {
    await complete(async (transaction, held) => {
      await transaction<{ id: string }[]>`select id from invoice`
      await store(transaction)
      return new Map(held.map((task) => [task, TaskDecision.success()]))
    })
  },
})
