/** Values that are sent as one JSON text, which Oracle reads with JSON_TABLE. `error on error` is needed, as the default would be null. */
import type { RowColumn } from '../../core/requests.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'

/** The most bytes of a VARCHAR2, unless the server was set up for longer ones, and of a bind variable that is not a CLOB. */
const varcharBytes = 4000

/** Rows as a table of this name. The column `nth` numbers them from 1. */
export function table(alias: string, columns: readonly RowColumn[]): Statement {
  const count = columns[0]?.values.length ?? 0
  const values = Array.from({ length: count }, (_, index) => columns.map((column) => column.values[index] ?? null))
  const list = columns.map((column, index) => `${column.name} ${typeOf(column)} path '$[${index}]' error on error`).join(', ')
  return sql`json_table(${JSON.stringify(values)}, '$[*]' error on error columns (nth for ordinality, ${raw(list)})) ${raw(alias)}`
}

/** Keys as the column `wanted` of a table `w`. The column `nth` numbers them from 1. */
export function keysOf(keys: readonly number[]): Statement {
  return sql`json_table(${JSON.stringify(keys)}, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w`
}

/** Texts as the column `wanted` of a table `w`. */
export function textsOf(texts: readonly string[]): Statement {
  return sql`json_table(${JSON.stringify(texts)}, '$[*]' error on error columns (wanted varchar2(${raw(String(varcharBytes))} byte) path '$' error on error)) w`
}

/** Whether a text is too long for a VARCHAR2. */
export function isLong(text: string): boolean {
  // A unit of UTF-16 takes at most three bytes in UTF-8, so most texts need not be measured.
  return text.length * 3 > varcharBytes && Buffer.byteLength(text) > varcharBytes
}

/** The type of a column. A CLOB cannot be compared, but columns that are compared never hold such long texts. */
function typeOf({ type, values }: RowColumn): string {
  if (type === 'integer') return 'number'
  return values.some((value) => typeof value === 'string' && isLong(value)) ? 'clob' : `varchar2(${varcharBytes} byte)`
}
