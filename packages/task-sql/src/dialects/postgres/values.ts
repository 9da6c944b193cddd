/** Values of statements, as PostgreSQL takes them. */
import { attemptOf } from '../../core/lease.ts'
import type { HeldRequest, RowColumn } from '../../core/requests.ts'
import { statementOf } from '../../core/statement.ts'
import type { SqlValue, Statement } from '../../core/statement.ts'

const scalarTypes = { text: 'text', integer: 'int8' }
const arrayTypes = { text: 'text[]', integer: 'int8[]' }

/** Rows as a table `r`. Arrays are sent as text in PostgreSQL's notation, because every driver passes texts on unchanged. */
export function unnest(columns: readonly RowColumn[]): Statement {
  // A single row needs no arrays.
  if (columns.every(({ values }) => values.length === 1)) {
    const texts = columns.map(({ name, type }) => `::${scalarTypes[type]} as ${name}`)
    return between(
      '(select ',
      texts,
      ') r',
      columns.map(({ values }) => values[0] ?? null),
    )
  }
  const texts = columns.map(({ type }) => `::${arrayTypes[type]}`)
  const names = columns.map(({ name }) => name).join(', ')
  // With several arrays only the plain name `unnest` is allowed, and it always means PostgreSQL's own function.
  const unnested = columns.length === 1 ? 'pg_catalog.unnest(' : 'unnest('
  return between(
    unnested,
    texts,
    `) as r(${names})`,
    columns.map(({ values }) => arrayLiteral(values)),
  )
}

/** A statement of values, each with the text that follows it. */
function between(before: string, texts: readonly string[], after: string, values: readonly SqlValue[]): Statement {
  return statementOf([before, ...texts.slice(0, -1).map((text) => `${text}, `), `${texts.at(-1)}${after}`], values)
}

/** The value of a column for the row `t`. */
export function valueOf({ tasks, columns }: HeldRequest): (column: string) => Statement {
  const all: RowColumn[] = [{ name: 'attempt', type: 'integer', values: tasks.map(attemptOf) }, ...columns]
  return (name) => {
    const { type, values } = all.find((column) => column.name === name) ?? { type: 'text', values: [] }
    const cast = `::${scalarTypes[type]}`
    const common = values[0] ?? null
    if (values.every((one) => one === common)) return statementOf(['', cast], [common])
    const bySequence = Object.fromEntries(tasks.map(({ sequence }, index) => [sequence, values[index]]))
    return statementOf(['(', `::jsonb ->> t.sequence::text)${cast}`], [JSON.stringify(bySequence)])
  }
}

/**
 * An array in PostgreSQL's text notation. The notation differs from JSON in the brackets, and in characters that JSON escapes with a
 * letter. Few values have such characters, and `JSON.stringify` is several times faster than our own code.
 */
export function arrayLiteral(values: readonly (string | number | null)[]): string {
  const json = JSON.stringify(values)
  const list = /\\[^"\\]/.test(json) ? values.map(toElement).join(',') : json.slice(1, -1)
  return `{${list}}`
}

function toElement(value: string | number | null): string {
  return typeof value === 'string' ? `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"` : String(value)
}
