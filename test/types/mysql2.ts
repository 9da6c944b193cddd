/** Handlers and work are given the types of this driver: compiled, never run. */
import { TaskDecision } from '@taskstream/task-api'
import { TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromMysql2, mariadb, mysql2Transactions } from '@taskstream/task-sql/mysql2'
import type { Pool, PoolConnection, RowDataPacket } from 'mysql2/promise'

interface Invoice extends RowDataPacket {
  readonly id: string
}

declare const pool: Pool
declare function store(connection: PoolConnection): Promise<void>

const transactions = mysql2Transactions(pool)
const tasks = sqlTaskRepository({ dialect: mariadb(), adapter: fromMysql2 })
await transactions(async (connection) => {
  const [rows] = await connection.query<Invoice[]>('select id from invoice')
  const id: string | undefined = rows[0]?.id
  await store(connection)
  await tasks.push(connection, 'invoices', id ?? '')
})
const node = new TaskNode({ repository: tasks, transactions })
node.process('invoices', {
  handler: async (_batch, { complete }) => {
    await complete(async (connection, held) => {
      await connection.query<Invoice[]>('select id from invoice')
      await store(connection)
      return new Map(held.map((task) => [task, TaskDecision.success()]))
    })
  },
})
