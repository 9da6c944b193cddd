import { Cache } from './cache.ts'
import type { SqlValue, Statement } from './statement.ts'

interface Template<Values> {
  readonly statement: Statement
  /** The name of the value at each position; undefined for a value that never changes. */
  readonly names: readonly (keyof Values | undefined)[]
}

/** Statements that are written once and then filled in, because writing a long one takes longer than many polls. */
export class Templates<Values extends Record<string, SqlValue>> {
  readonly #written = new Cache<string, Template<Values> | 'each time'>()

  /**
   * A statement with these values. For one kind `write` must always write the same text. If `write` computes other values from those
   * given, a template is impossible, and `write` is called each time.
   */
  fill(kind: string, values: Values, write: (values: Values) => Statement): Statement {
    const template = this.#written.get(kind, () => templateOf(Object.keys(values), write) ?? 'each time')
    if (template === 'each time') return write(values)
    const { statement, names } = template
    const filled = statement.values.map((value, position) => {
      const name = names[position]
      return name === undefined ? value : values[name]!
    })
    return { ...statement, values: filled, reused: true }
  }
}

function templateOf<Values extends Record<string, SqlValue>>(
  names: readonly (keyof Values & string)[],
  write: (values: Values) => Statement,
): Template<Values> | undefined {
  const places = new Map(names.map((name) => [placed + name, name]))
  const statement = write(Object.fromEntries([...places].map(([place, name]) => [name, place])) as Values)
  const found = statement.values.map((value) => places.get(String(value)))
  return names.every((name) => found.includes(name)) ? { statement, names: found } : undefined
}

/** Prefix of a placeholder. Stored values cannot contain NUL. */
const placed = '\0'
