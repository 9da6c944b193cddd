/**
 * Fills tables with millions of rows by copying one row that the product itself has written, so the copies fit whatever columns
 * the table has.
 */
import type pg from 'pg'
import { connect } from './database.ts'
import type { Connection } from './database.ts'

export interface Copies {
  /** The table's name with its schema. The table has one row. */
  readonly table: string
  readonly count: number
  /** Expressions for columns that are not copied; `n` counts from 1. */
  readonly instead: Readonly<Record<string, string>>
}

export async function copyRow(connection: Connection, { table, count, instead }: Copies): Promise<void> {
  const client = await connect(connection)
  const columns = await columnsOf(client, table)
  const values = columns.map((column) => instead[column] ?? `one."${column}"`)
  await client.query(
    `insert into ${table} (${columns.map((column) => `"${column}"`).join(', ')})
     select ${values.join(', ')} from (select * from ${table} limit 1) one, generate_series(1, ${count}) n`,
  )
  await client.end()
  await tend(connection)
}

/** Does what autovacuum would have done while so many rows were written. */
export async function tend(connection: Connection): Promise<void> {
  const client = await connect(connection)
  await client.query('vacuum (analyze)')
  await client.end()
}

async function columnsOf(client: pg.Client, table: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select attname as name
       from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' and attidentity <> 'a'
      order by attnum`,
    [table],
  )
  return rows.map(({ name }) => name)
}
