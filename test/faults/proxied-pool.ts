/** Pools of the drivers, for a database behind a proxy. */
import type { TransactionSource } from '@taskstream/task-api'
import { mysql2Transactions } from '@taskstream/task-sql/mysql2'
import { pgTransactions } from '@taskstream/task-sql/pg'
import { createPool } from 'mysql2/promise'
import pg from 'pg'
import { isMysql } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'

export interface Pool {
  readonly transactions: TransactionSource<AnyTransaction>
  end(): Promise<void>
}

const connectMs = 2_000

/** As the guide says: the server, too, lets go of a transaction of which it hears nothing more. */
export function openPool(url: string): Pool {
  if (isMysql) {
    const pool = createPool({ uri: url, connectionLimit: 8, connectTimeout: connectMs })
    pool.on('connection', (connection) => void connection.query('set session idle_transaction_timeout = 1'))
    return { transactions: mysql2Transactions(pool) as TransactionSource<AnyTransaction>, end: () => pool.end() }
  }
  const pool = new pg.Pool({
    connectionString: url,
    max: 8,
    connectionTimeoutMillis: connectMs,
    idle_in_transaction_session_timeout: 1_000,
  })
  pool.on('error', () => {})
  return { transactions: pgTransactions(pool) as TransactionSource<AnyTransaction>, end: () => pool.end() }
}
