/** Turns rows into camel case, as users of Knex do. Knex passes every result through it, raw results as the driver returned them. */
export function camelCaseRows(result: unknown): unknown {
  if (Array.isArray(result)) return result.map(camelCaseRows)
  if (typeof result !== 'object' || result === null) return result
  const { rows } = result as { rows?: unknown }
  if (Array.isArray(rows)) return { ...result, rows: camelCaseRows(rows) }
  const camel = (name: string): string => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())
  return Object.fromEntries(Object.entries(result).map(([name, value]) => [camel(name), value]))
}
