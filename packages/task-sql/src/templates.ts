import type { SqlValue, Statement } from './statement.ts'

/** Statements that are written once and filled in: writing one takes longer than many a poll. */
export class Templates<Values extends Record<string, SqlValue>> {
  readonly #written = new Map<string, Statement>()

  /** `write` is called once for each kind, and must write the same text whatever the values are. */
  fill(kind: string, values: Values, write: (values: Values) => Statement): Statement {
    let template = this.#written.get(kind)
    if (!template) {
      const places = Object.fromEntries(Object.keys(values).map((name) => [name, placed + name])) as Values
      this.#written.set(kind, (template = write(places)))
    }
    const filled = template.values.map((value) =>
      typeof value === 'string' && value.startsWith(placed) ? (values[value.slice(placed.length)] ?? null) : value,
    )
    return { texts: template.texts, values: filled, reused: true }
  }
}

/** Begins what stands for a value: no value begins so, as nothing that is stored may contain it. */
const placed = '\0'
