/** The database as a careful application opens it: every wait has a limit. */
import { isTaskError } from '@taskstream/task-api'
import type { TaskNotifier, TransactionSource } from '@taskstream/task-api'
import { sqlTaskRepository } from '@taskstream/task-sql'
import type { SqlAdapter } from '@taskstream/task-sql'
import { fromMysql2, mariadb, mysql2Transactions } from '@taskstream/task-sql/mysql2'
import { fromPg, pgListener, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import { createPool } from 'mysql2/promise'
import pg from 'pg'
import type { AnyTransaction, Tasks } from '../../subject.ts'
import type { Orders, Tell, Told } from '../orders.ts'
import type { Access } from '../setup.ts'

export interface Application {
  readonly tasks: Tasks
  readonly transactions: TransactionSource<AnyTransaction>
  readonly notifier: TaskNotifier | undefined
  close(): Promise<void>
}

const connectMs = 2_000
const poolSize = 10

/** @param answerMs after which the driver gives up a statement, such as one of a handler, for which no limit of the node counts */
export function openApplication({ engine, urls, listenUrls = urls }: Access, answerMs: number): Application {
  if (engine === 'mariadb') {
    const pool = createPool({ uri: urls[0]!, connectionLimit: poolSize, connectTimeout: connectMs })
    return {
      tasks: sqlTaskRepository({ dialect: mariadb(), adapter: fromMysql2 as SqlAdapter<AnyTransaction, 'async'> }),
      transactions: mysql2Transactions(pool) as TransactionSource<AnyTransaction>,
      notifier: undefined,
      close: () => pool.end(),
    }
  }
  const options = { connectionTimeoutMillis: connectMs, keepAlive: true }
  const pools = urls.map(
    (connectionString) => new pg.Pool({ connectionString, max: poolSize, query_timeout: answerMs, ...options }),
  )
  for (const pool of pools) pool.on('error', () => {})
  return {
    tasks: sqlTaskRepository({ dialect: postgres(), adapter: fromPg as SqlAdapter<AnyTransaction, 'async'> }),
    transactions: pgTransactions(pools) as TransactionSource<AnyTransaction>,
    notifier: pgListener(listenUrls.map((connectionString) => () => new pg.Client({ connectionString, ...options }))),
    close: async () => void (await Promise.all(pools.map((pool) => pool.end()))),
  }
}

/** @param begin starts the work. `rest` ends pushing, and `stop` ends all work */
export async function beActor(begin: (orders: Orders) => Promise<Readonly<Record<Tell, () => Promise<void>>>>): Promise<void> {
  // The process must not outlive the run.
  process.on('disconnect', () => process.exit())
  const actor = await begin(JSON.parse(process.argv[2] ?? '{}') as Orders)
  process.on('message', (what: Tell) => {
    void actor[what]().then(() => {
      if (what === 'stop') process.disconnect()
      else process.send?.({ tells: 'ready' } satisfies Told)
    })
  })
  tell({ tells: 'ready' })
}

export function tell(told: Told): void {
  process.send?.(told)
}

export function tellError(activity: string, error: unknown): void {
  const isNamed = isTaskError(error)
  tell({ tells: 'error', activity, code: isNamed ? error.code : String(error), isNamed, at: Date.now() })
}
