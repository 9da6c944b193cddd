import { invalid } from '@taskstream/task-api'

/** The values that statements may have. Every driver takes them without a conversion. */
export type SqlValue = string | number | null

/** SQL text and its values. They stay apart, so that a value never becomes SQL; an adapter renders the text for its driver. */
export interface Statement {
  /** Parts of the text, with a value between each two: there is one part more than there are values. */
  readonly texts: readonly string[]
  readonly values: readonly SqlValue[]
  /** Whether the best plan is the same whatever the tables hold. */
  readonly stablePlan?: boolean
  /** Whether `texts` is the same array every time, so that a driver may keep the rendered text. */
  readonly reused?: boolean
  /** How many rows may be fetched at most, because fetching a row locks it. */
  readonly fetch?: number
}

/** Marks statements, also those of another copy of this package. A value that came as JSON does not have it, whatever it looks like. */
const mark = Symbol.for('@taskstream/task-sql statement')

/** A statement of texts and the values between them. The texts are this package's own, never those that a caller gave. */
export function statementOf(texts: readonly string[], values: readonly SqlValue[]): Statement {
  return { texts, values, [mark]: true } as Statement
}

/**
 * A statement of text and values. A nested statement is spliced in with its own values; everything else is a value.
 *
 * @example
 * sql`select sequence from ${tables.task} where topic = ${topic}`
 * @throws TaskError ARGUMENT_INVALID for an object that is no statement of `sql`, `raw` or `join`
 */
export function sql(strings: TemplateStringsArray, ...inserts: readonly (SqlValue | Statement)[]): Statement {
  const texts: string[] = []
  const values: SqlValue[] = []
  let text = strings[0]!
  for (let index = 0; index < inserts.length; index++) {
    const insert = inserts[index]!
    const after = strings[index + 1]!
    if (!isStatement(insert)) {
      texts.push(text)
      values.push(insert)
      text = after
    } else if (insert.values.length === 0) text += insert.texts[0]! + after
    else {
      texts.push(text + insert.texts[0]!, ...insert.texts.slice(1, -1))
      values.push(...insert.values)
      text = insert.texts.at(-1)! + after
    }
  }
  texts.push(text)
  return statementOf(texts, values)
}

/** A fragment of SQL without values: names and texts of this package, never a text that a caller gave. */
export function raw(text: string): Statement {
  return statementOf([text], [])
}

/** The empty fragment. */
export const nothing: Statement = raw('')

/** Several fragments, with a separator between each two. */
export function join(statements: readonly Statement[], separator: string): Statement {
  return statements.reduce((left, right, index) => (index === 0 ? right : sql`${left}${raw(separator)}${right}`), nothing)
}

/** The text with a placeholder for each value, counted from 1. */
export function render({ texts }: Pick<Statement, 'texts'>, placeholder: (position: number) => string): string {
  let text = texts[0] ?? ''
  for (let position = 1; position < texts.length; position++) text += placeholder(position) + texts[position]
  return text
}

function isStatement(value: SqlValue | Statement): value is Statement {
  if (typeof value !== 'object' || value === null) return false
  if (!(mark in value)) throw invalid('a value of a statement', value, 'must be a text, a number or null')
  return true
}
