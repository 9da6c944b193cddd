/** Handlers and work are given the types of this driver: compiled, never run. */
import { TaskDecision } from '@taskstream/task-api'
import { TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { mariadb } from '@taskstream/task-sql/mysql2'
import {
  fromTypeorm,
  fromTypeormMysql,
  fromTypeormSqlite,
  postgres,
  sqlite,
  typeormMysqlTransactions,
  typeormSqliteTransactions,
  typeormTransactions,
} from '@taskstream/task-sql/typeorm'
import type { DataSource, EntityManager, EntitySchema } from 'typeorm'

declare const dataSource: DataSource
declare const Invoice: EntitySchema<{ id: string }>
declare function store(manager: EntityManager): Promise<void>

for (const { transactions, repository } of [
  { transactions: typeormTransactions(dataSource), repository: sqlTaskRepository({ dialect: postgres(), adapter: fromTypeorm }) },
  {
    transactions: typeormMysqlTransactions(dataSource),
    repository: sqlTaskRepository({ dialect: mariadb(), adapter: fromTypeormMysql }),
  },
  {
    transactions: typeormSqliteTransactions(dataSource),
    repository: sqlTaskRepository({ dialect: sqlite(), adapter: fromTypeormSqlite }),
  },
])
  new TaskNode({ repository, transactions }).process('invoices', {
    handler: async (_batch, { complete }) => {
      await complete(async (manager, held) => {
        const rows: { id: string }[] = await manager.find(Invoice)
        await store(manager)
        return new Map(held.slice(rows.length).map((task) => [task, TaskDecision.success()]))
      })
    },
  })
