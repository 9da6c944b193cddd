import type { Row, SqlAdapter } from '../transaction.ts'
import { checkOpen } from './ended-transactions.ts'

/** What we need of Kysely: a `Transaction`, or a `Kysely` on a connection with a transaction. */
export interface KyselyTransaction<Executor> {
  withoutPlugins(): Executor
}

/** Kysely's `sql` tag. */
export type KyselySql<Executor> = (
  strings: TemplateStringsArray,
  ...values: unknown[]
) => { execute(executor: Executor): Promise<{ readonly rows: readonly unknown[] }> }

/**
 * Hands statements to Kysely on any of its dialects, whose compiler writes the placeholders. Plugins are left out: they may
 * rename columns.
 *
 * @param sql Kysely's own, from `import { sql } from 'kysely'`
 * @example
 * const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromKysely(sql) })
 * await db.transaction().execute((transaction) => tasks.push(transaction, 'invoices', 'inv-1'))
 */
export function fromKysely<Executor>(sql: KyselySql<Executor>): SqlAdapter<KyselyTransaction<Executor>, 'async'> {
  return {
    execution: 'async',
    execute: async (transaction, { texts, values }) => {
      checkOpen(transaction)
      const query = sql(texts as unknown as TemplateStringsArray, ...values)
      return (await query.execute(transaction.withoutPlugins())).rows as readonly Row[]
    },
  }
}
