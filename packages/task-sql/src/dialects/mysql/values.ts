/** Values that are sent as one JSON text, which MariaDB and MySQL read with JSON_TABLE. */
import type { RowColumn } from '../../core/requests.ts'
import { join, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'

const types = { text: 'longtext character set utf8mb4', integer: 'bigint' }

/**
 * A key that no row has, which is looked up last. If a row that was looked up does not meet the condition, its lock is released when the next
 * key is looked up. Without one more key the last such row would stay locked, and the owner of its task would have to wait.
 */
export const noSequence = 0

/** Rows to be inserted, as a table `r`. A single row needs no JSON. */
export function rows(columns: readonly RowColumn[]): Statement {
  if (columns[0]?.values.length !== 1) return table('r', columns)
  const list = columns.map(({ name, values }) => sql`${values[0] ?? null} as ${raw(name)}`)
  return sql`(select ${join(list, ', ')}) r`
}

/**
 * Rows as a table of this name. A single row is sent as JSON too. As a constant row it would make the task that it names a constant of the
 * plan: that task would be locked before its condition is checked, and stay locked.
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
