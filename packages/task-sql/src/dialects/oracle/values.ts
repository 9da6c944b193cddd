/** Values that travel as one text of JSON, as Oracle takes them apart. An error is one: by itself JSON_TABLE says null instead. */
import type { RowColumn } from '../../core/requests.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'

/** VARCHAR2 holds no more, unless a server was set up otherwise for good; nor does a bind variable that is not a CLOB. */
const varcharBytes = 4000

/** Rows as a table of this name. What counts them is `nth`. */
export function table(alias: string, columns: readonly RowColumn[]): Statement {
  const count = columns[0]?.values.length ?? 0
  const values = Array.from({ length: count }, (_, index) => columns.map((column) => column.values[index] ?? null))
  const list = columns.map((column, index) => `${column.name} ${typeOf(column)} path '$[${index}]' error on error`).join(', ')
  return sql`json_table(${JSON.stringify(values)}, '$[*]' error on error columns (nth for ordinality, ${raw(list)})) ${raw(alias)}`
}

/** Keys as the column `wanted` of a table `w`; what counts them is `nth`. */
export function keysOf(keys: readonly number[]): Statement {
  return sql`json_table(${JSON.stringify(keys)}, '$[*]' error on error columns (nth for ordinality, wanted number path '$' error on error)) w`
}

/** Texts as the column `wanted` of a table `w`. */
export function textsOf(texts: readonly string[]): Statement {
  return sql`json_table(${JSON.stringify(texts)}, '$[*]' error on error columns (wanted varchar2(${raw(String(varcharBytes))} byte) path '$' error on error)) w`
}

/** Whether a text is too long for a VARCHAR2. */
export function isLong(text: string): boolean {
  // No character of UTF-16 takes more than three bytes.
  return text.length * 3 > varcharBytes && Buffer.byteLength(text) > varcharBytes
}

/** A CLOB cannot be compared: what is compared is never so long. */
function typeOf({ type, values }: RowColumn): string {
  if (type === 'integer') return 'number'
  return values.some((value) => typeof value === 'string' && isLong(value)) ? 'clob' : `varchar2(${varcharBytes} byte)`
}
