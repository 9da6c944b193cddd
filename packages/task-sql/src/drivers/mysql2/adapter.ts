import { renderer } from '../../core/cache.ts'
import type { SqlValue } from '../../core/statement.ts'
import type { Row, SqlAdapter } from '../../core/verb.ts'
import { checkIsTransaction } from '../shared/ended-transactions.ts'

/** The part of a `Connection` or `PoolConnection` of `mysql2/promise` that the adapter uses. The connection must be in a transaction. */
export interface Mysql2Connection {
  execute(text: string, values: SqlValue[]): Promise<[unknown, ...unknown[]]>
  query(text: string): Promise<[unknown, ...unknown[]]>
}

/** Further members of a connection, for traces. */
interface ConfiguredConnection extends Mysql2Connection {
  readonly connection?: {
    readonly config?: { readonly host?: string; readonly port?: number; readonly socketPath?: string }
  }
}

const textOf = renderer(() => '?')

/**
 * Hands statements to mysql2, on MariaDB or MySQL. For a statement without rows the adapter returns one row with the driver's `affectedRows` and
 * `insertId`.
 *
 * @example
 * const tasks = sqlTaskRepository({ dialect: mariadb(), adapter: fromMysql2 })
 */
export const fromMysql2: SqlAdapter<Mysql2Connection, 'async'> = {
  execution: 'async',
  execute: async (connection, statement) => {
    checkIsTransaction(!('getConnection' in connection), 'a pool')
    const text = textOf(statement)
    // The server cannot prepare every statement, and the statements that it cannot prepare have no values.
    const [result] =
      statement.values.length === 0
        ? await connection.query(text)
        : await connection.execute(text, statement.values as SqlValue[])
    return (Array.isArray(result) ? result : [result]) as readonly Row[]
  },
  serverOf: (connection) => {
    const { host, port, socketPath } = (connection as ConfiguredConnection).connection?.config ?? {}
    if (typeof socketPath === 'string') return { address: socketPath }
    if (typeof host !== 'string') return undefined
    return typeof port === 'number' ? { address: host, port } : { address: host }
  },
}
