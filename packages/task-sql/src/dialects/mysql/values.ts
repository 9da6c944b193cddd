/** Values that are sent as one JSON text, which MariaDB and MySQL read with JSON_TABLE. */
import type { RowColumn } from '../../core/requests.ts'
import { Cache } from '../../core/cache.ts'
import { join, raw, sql, statementOf } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import { rangeOf } from '../shared/alike.ts'

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

/** The most keys that stand in a statement one by one. */
const mostKeys = 1024

/** The fewest keys: for fewer than 200 the server would look into the index for each, to guess how many rows it has (`eq_range_index_dive_limit`). */
const fewestKeys = 256

const listed = new Cache<number, readonly string[]>()

/**
 * A condition that finds rows `t` of one topic by their keys, if the statement reads no other table. Undefined for too many keys.
 *
 * At the end of a range the server locks the row behind it, and waits if others have locked that row. So a range ends before the last key,
 * which is looked up by itself. There are few different texts, because each is prepared, and kept, on each connection: keys are repeated until there
 * are as many as in the next text.
 */
export function sequenceIn(keys: readonly number[]): Statement | undefined {
  const range = rangeOf(keys)
  if (range) {
    const { first, last } = range
    if (first === last) return sql`t.sequence = ${last}`
    return sql`(t.sequence between ${first} and ${last - 1} or t.sequence = ${last})`
  }
  if (keys.length > mostKeys) return undefined
  const places = Math.max(2 ** Math.ceil(Math.log2(keys.length)), fewestKeys)
  const texts = listed.get(places, () => ['t.sequence in (', ...Array.from({ length: places - 1 }, () => ', '), ')'])
  return statementOf(texts, [...keys, ...Array.from({ length: places - keys.length }, () => keys.at(-1)!)])
}
