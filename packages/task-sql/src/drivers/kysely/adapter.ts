import type { Row, SqlAdapter } from '../../core/verb.ts'
import { checkOpen } from '../shared/ended-transactions.ts'

/** The part of Kysely that the adapter uses: of a `Transaction`, or of a `Kysely` on a connection with an open transaction. */
export interface KyselyTransaction<Executor> {
  withoutPlugins(): Executor
}

/** Kysely's `sql` tag. */
export type KyselySql<Executor> = (
  strings: TemplateStringsArray,
  ...values: unknown[]
) => { execute(executor: Executor): Promise<KyselyResult> }

interface KyselyResult {
  readonly rows: readonly unknown[]
  readonly numAffectedRows?: bigint | undefined
  readonly insertId?: bigint | undefined
}

/**
 * Hands statements to Kysely on PostgreSQL or SQLite. Kysely's plugins are left out, as they may rename columns.
 *
 * @param sql Kysely's `sql` tag, from `import { sql } from 'kysely'`
 * @example
 * const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromKysely(sql) })
 * await db.transaction().execute((transaction) => tasks.push(transaction, 'invoices', 'inv-1'))
 */
export function fromKysely<Executor>(sql: KyselySql<Executor>): SqlAdapter<KyselyTransaction<Executor>, 'async'> {
  return kyselyAdapter(sql, ({ rows }) => rows)
}

/**
 * Hands statements to Kysely on MariaDB or MySQL. Kysely's plugins are left out, as they may rename columns.
 *
 * @example
 * const tasks = sqlTaskRepository({ dialect: mariadb(), adapter: fromKyselyMysql(sql) })
 */
export function fromKyselyMysql<Executor>(sql: KyselySql<Executor>): SqlAdapter<KyselyTransaction<Executor>, 'async'> {
  return kyselyAdapter(sql, ({ rows, numAffectedRows, insertId }) =>
    numAffectedRows === undefined ? rows : [{ affectedRows: Number(numAffectedRows), insertId: Number(insertId ?? 0) }],
  )
}

function kyselyAdapter<Executor>(
  sql: KyselySql<Executor>,
  rowsOf: (result: KyselyResult) => readonly unknown[],
): SqlAdapter<KyselyTransaction<Executor>, 'async'> {
  return {
    execution: 'async',
    execute: async (transaction, { texts, values }) => {
      checkOpen(transaction)
      const query = sql(texts as unknown as TemplateStringsArray, ...values)
      return rowsOf(await query.execute(transaction.withoutPlugins())) as readonly Row[]
    },
  }
}
