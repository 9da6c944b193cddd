/** Values that travel as one text of JSON, and locks, as MariaDB and MySQL say them. */
import type { Change, RowColumn } from '../dialect.ts'
import { join, raw, sql } from '../statement.ts'
import type { Statement } from '../statement.ts'

const types = { text: 'longtext character set utf8mb4', integer: 'bigint' }

/** Rows as a table of this name. */
export function table(alias: string, columns: readonly RowColumn[]): Statement {
  const count = columns[0]?.values.length ?? 0
  if (count === 1) {
    const list = columns.map(({ name, values }) => sql`${values[0] ?? null} as ${raw(name)}`)
    return sql`(select ${join(list, ', ')}) ${raw(alias)}`
  }
  const rows = Array.from({ length: count }, (_, index) => columns.map(({ values }) => values[index] ?? null))
  const list = columns.map(({ name, type }, index) => `${name} ${types[type]} path '$[${index}]'`).join(', ')
  return sql`json_table(${JSON.stringify(rows)}, '$[*]' columns (${raw(list)})) ${raw(alias)}`
}

/** Keys as the column `wanted` of a table `w`. */
export function keysOf(keys: readonly number[]): Statement {
  return sql`json_table(${JSON.stringify(keys)}, '$[*]' columns (wanted bigint path '$')) w`
}

/** Texts as the column `wanted` of a table `w`. */
export function textsOf(texts: readonly string[]): Statement {
  return sql`json_table(${JSON.stringify(texts)}, '$[*]' columns (wanted varchar(500) character set utf8mb4 path '$')) w`
}

/** Whatever else a select reads, only rows of tables are locked. */
export function lock(_table: string, mode: Change['locked']): Statement {
  return raw(mode === 'skip' ? 'for update skip locked' : 'for update')
}
