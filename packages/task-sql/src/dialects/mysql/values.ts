/** Values that travel as one text of JSON, as MariaDB and MySQL read it. */
import type { RowColumn } from '../../core/requests.ts'
import { join, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'

const types = { text: 'longtext character set utf8mb4', integer: 'bigint' }

/**
 * No row has it. A row that was looked up and is not wanted is let go of when the next one is looked up: without one more the last would stay
 * locked, and with it whoever holds the task would have to wait for us.
 */
export const noSequence = 0

/** Rows to be inserted, as a table `r`: of one there is nothing to take apart. */
export function rows(columns: readonly RowColumn[]): Statement {
  if (columns[0]?.values.length !== 1) return table('r', columns)
  const list = columns.map(({ name, values }) => sql`${values[0] ?? null} as ${raw(name)}`)
  return sql`(select ${join(list, ', ')}) r`
}

/**
 * Rows as a table of this name. One is as many: a single constant row makes the task that it names a constant too, which is locked before it is
 * known whether it is wanted, and stays locked.
 */
export function table(alias: string, columns: readonly RowColumn[]): Statement {
  const count = columns[0]?.values.length ?? 0
  const values = Array.from({ length: count }, (_, index) => columns.map((column) => column.values[index] ?? null))
  const list = columns.map(({ name, type }, index) => `${name} ${types[type]} path '$[${index}]'`).join(', ')
  return sql`json_table(${JSON.stringify(values)}, '$[*]' columns (${raw(list)})) ${raw(alias)}`
}

/** Keys as the column `wanted` of a table `w`. */
export function keysOf(keys: readonly number[]): Statement {
  return sql`json_table(${JSON.stringify(keys)}, '$[*]' columns (wanted bigint path '$')) w`
}

/** Texts as the column `wanted` of a table `w`. */
export function textsOf(texts: readonly string[]): Statement {
  return sql`json_table(${JSON.stringify(texts)}, '$[*]' columns (wanted varchar(500) character set utf8mb4 path '$')) w`
}
