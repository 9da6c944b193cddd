import { isLong } from '../../dialects/oracle/values.ts'
import { renderer } from '../../core/cache.ts'
import type { SqlValue, Statement } from '../../core/statement.ts'
import type { Row, SqlAdapter } from '../../core/verb.ts'

/** What we need of the module `oracledb`. */
export interface Oracledb {
  readonly DB_TYPE_CLOB: object
  readonly DB_TYPE_VARCHAR: object
  readonly OUT_FORMAT_ARRAY: number
}

/** What we need of a connection of `oracledb`. Its transaction begins with the first statement. */
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

/** Rows of one round trip. */
const arraySize = 1_000

/**
 * Hands statements to `oracledb`. Names of columns come in lower case, CLOBs as text. Of a statement without rows it returns what the driver tells of
 * it, as one row: `affectedRows`.
 *
 * @param oracledb the module itself, for its constants
 * @example
 * const tasks = sqlTaskRepository({ dialect: oracle(), adapter: fromOracledb(oracledb) })
 */
export function fromOracledb(oracledb: Oracledb): SqlAdapter<OracledbConnection, 'async'> {
  const { DB_TYPE_CLOB: clob, DB_TYPE_VARCHAR: varchar, OUT_FORMAT_ARRAY: outFormat } = oracledb
  const options = {
    // Whatever the module's settings are: the transaction is the caller's.
    autoCommit: false,
    outFormat,
    maxRows: 0,
    prefetchRows: arraySize,
    fetchArraySize: arraySize,
    fetchTypeHandler: ({ dbType }: { readonly dbType?: unknown }) => (dbType === clob ? { type: varchar } : undefined),
  }
  // A text that is too long for a VARCHAR2 may only be inserted as it is, and not be taken apart: ORA-01461.
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

/** Asks for no row twice, and for none beyond: whatever is fetched is locked. */
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
