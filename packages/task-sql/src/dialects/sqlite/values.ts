/** Values that are sent as one JSON text, and the rows `t` of keys. */
import type { RowColumn } from '../../core/requests.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import { rangeOf } from '../shared/alike.ts'

export function among(column: Statement, values: readonly (string | number)[]): Statement {
  return sql`${column} in (select value from json_each(${JSON.stringify(values)}))`
}

/** Finds rows `t` by their sequences. A range is read in one go. */
export function sequenceIn(sequences: readonly number[]): Statement {
  const range = rangeOf(sequences)
  return range ? sql`t.sequence between ${range.first} and ${range.last}` : among(raw('t.sequence'), sequences)
}

/** Because of the plus, SQLite looks up each sequence, instead of reading a whole topic for each row. */
export function byKey(topic: Statement, sequence: Statement): Statement {
  return sql`t.sequence = ${sequence} and +t.topic = ${topic}`
}

export function rows(columns: readonly RowColumn[]): Statement {
  const count = columns[0]!.values.length
  const values = Array.from({ length: count }, (_, index) => columns.map((column) => column.values[index]))
  const list = columns.map(({ name }, index) => `value ->> ${index} as ${name}`).join(', ')
  return sql`(select ${raw(list)} from json_each(${JSON.stringify(values)})) as r`
}
