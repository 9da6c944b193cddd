import { isLong } from '../../dialects/oracle/values.ts'
import { renderer } from '../../core/cache.ts'
import type { SqlValue, Statement } from '../../core/statement.ts'
import type { Row, SqlAdapter } from '../../core/verb.ts'

/** The constants of the module `oracledb` that the adapter uses. */
export interface Oracledb {
  readonly DB_TYPE_CLOB: object
  readonly DB_TYPE_VARCHAR: object
  readonly OUT_FORMAT_ARRAY: number
}

/** The part of a connection of `oracledb` that the adapter uses. A transaction begins with its first statement. */
export interface OracledbConnection {
  execute(text: string, binds: unknown[], options: object): Promise<OracledbResult>
}

interface OracledbResult {
  readonly rows?: unknown[] | undefined
  readonly metaData?: readonly { readonly name: string }[] | undefined
  readonly resultSet?: OracledbRows | undefined
  readonly rowsAffected?: number | undefined
}

interface OracledbRows {
  readonly metaData: readonly { readonly name: string }[]
  getRows(count: number): Promise<unknown[]>
  close(): Promise<void>
}

/** How many rows the driver fetches in a round trip. */
const arraySize = 1_000

/**
 * Hands statements to `oracledb`. The adapter returns names of columns in lower case, and CLOBs as text. For a statement without rows the adapter
 * returns one row with `affectedRows`.
 *
 * @param oracledb the module itself, for its constants
 * @example
 * const tasks = sqlTaskRepository({ dialect: oracle(), adapter: fromOracledb(oracledb) })
 */
export function fromOracledb(oracledb: Oracledb): SqlAdapter<OracledbConnection, 'async'> {
  const { DB_TYPE_CLOB: clob, DB_TYPE_VARCHAR: varchar, OUT_FORMAT_ARRAY: outFormat } = oracledb
  const options = {
    // The transaction is the caller's, so the module's own setting must not commit it.
    autoCommit: false,
    outFormat,
    maxRows: 0,
    prefetchRows: arraySize,
    fetchArraySize: arraySize,
    fetchTypeHandler: ({ dbType }: { readonly dbType?: unknown }) => (dbType === clob ? { type: varchar } : undefined),
  }
  // SQL cannot take apart a text that is bound as a string and too long for a VARCHAR2 (ORA-01461): such a text is bound as a CLOB.
  const toBind = (value: SqlValue): unknown => (typeof value === 'string' && isLong(value) ? { type: clob, val: value } : value)
  const textOf = renderer((position) => `:${position}`)
  return {
    execution: 'async',
    execute: async (connection, statement) => {
      const text = textOf(statement)
      const binds = statement.values.map(toBind)
      const { fetch } = statement
      if (fetch !== undefined) {
        const limited = { ...options, resultSet: true, prefetchRows: fetch, fetchArraySize: fetch }
        return fetchSome(await connection.execute(text, binds, limited), fetch)
      }
      const { rows, metaData, rowsAffected } = await connection.execute(text, binds, options)
      return rows && metaData ? toRows(rows, metaData) : [{ affectedRows: rowsAffected ?? 0 }]
    },
  }
}

/** Fetches `count` rows in one round trip and no row beyond, as the database locks every row that it fetches. */
async function fetchSome({ resultSet }: OracledbResult, count: NonNullable<Statement['fetch']>): Promise<readonly Row[]> {
  if (!resultSet) return []
  try {
    return toRows(await resultSet.getRows(count), resultSet.metaData)
  } finally {
    await resultSet.close()
  }
}

function toRows(rows: readonly unknown[], metaData: readonly { readonly name: string }[]): readonly Row[] {
  const names = metaData.map(({ name }) => name.toLowerCase())
  return (rows as readonly (readonly unknown[])[]).map((row) =>
    Object.fromEntries(names.map((name, index) => [name, row[index] ?? null])),
  )
}
