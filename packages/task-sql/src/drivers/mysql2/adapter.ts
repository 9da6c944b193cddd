import { renderer } from '../../core/cache.ts'
import type { SqlValue } from '../../core/statement.ts'
import type { Row, SqlAdapter } from '../../core/verb.ts'

/** What we need of mysql2: a `Connection` or `PoolConnection` of `mysql2/promise` in a transaction. */
export interface Mysql2Connection {
  execute(text: string, values: SqlValue[]): Promise<[unknown, ...unknown[]]>
  query(text: string): Promise<[unknown, ...unknown[]]>
}

const textOf = renderer(() => '?')

/**
 * Hands statements to mysql2, on MariaDB or MySQL. Of a statement without rows it returns what the driver tells of it, as one row:
 * `affectedRows` and `insertId`.
 */
export const fromMysql2: SqlAdapter<Mysql2Connection, 'async'> = {
  execution: 'async',
  execute: async (connection, statement) => {
    const text = textOf(statement)
    // What has no values may be what cannot be prepared.
    const [result] =
      statement.values.length === 0
        ? await connection.query(text)
        : await connection.execute(text, statement.values as SqlValue[])
    return (Array.isArray(result) ? result : [result]) as readonly Row[]
  },
}
