/** What may be bound: every driver takes these as they are. */
export type SqlValue = string | number | null

/** SQL text kept apart from its values until an adapter renders it for one driver: values never become text. */
export interface Statement {
  /** One more text than there are values; a value stands between each two. */
  readonly texts: readonly string[]
  readonly values: readonly SqlValue[]
  /** Its plan is good whatever the tables hold. */
  readonly stablePlan?: boolean
  /** Its texts are the same array every time: what is made of them may be kept. */
  readonly reused?: boolean
  /** At most so many of its rows are wanted, and none beyond may be fetched: to fetch a row is what locks it. */
  readonly fetch?: number
}

/**
 * A statement of text and values. A nested statement is spliced in with its own values; everything else is a value.
 *
 * @example
 * sql`select sequence from ${tables.task} where topic = ${topic}`
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
  return { texts, values }
}

/** Text that is SQL already: names and fragments of our own, never anything a caller gave. */
export function raw(text: string): Statement {
  return { texts: [text], values: [] }
}

/** The empty fragment. */
export const nothing: Statement = raw('')

/** Several fragments, separated. */
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
  return typeof value === 'object' && value !== null
}
