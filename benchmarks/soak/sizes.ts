/** How large the tables are, and how many dead rows they have, as each database tells it. */
import { statSync } from 'node:fs'
import { raw } from '@taskstream/task-sql'
import type { Row } from '@taskstream/task-sql'
import type { Subject } from '../../test/subject.ts'

export interface Sizes {
  readonly tableMb: number
  /** Only PostgreSQL tells. */
  readonly deadRows: number
}

export async function sizesOf({ engine, location, transactions, execute }: Subject): Promise<Sizes> {
  const mb = 2 ** 20
  if (engine === 'sqlite') return { tableMb: statSync(location.at).size / mb, deadRows: 0 }
  const text =
    engine === 'postgres'
      ? `select pg_total_relation_size('taskstream.task') as bytes, (select n_dead_tup from pg_stat_user_tables where relname = 'task') as dead`
      : `select sum(data_length + index_length) as bytes, 0 as dead from information_schema.tables where table_schema = database() and table_name = 'task'`
  const [row] = (await transactions((transaction) => execute(transaction, raw(text)))) as readonly Row[]
  return { tableMb: Number(row?.['bytes']) / mb, deadRows: Number(row?.['dead']) }
}
