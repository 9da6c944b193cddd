/** What users of Knex write to have their rows in camel case; Knex hands it every result, and raw ones as the driver gave them. */
export function camelCaseRows(result: unknown): unknown {
  if (Array.isArray(result)) return result.map(camelCaseRows)
  if (typeof result !== 'object' || result === null) return result
  const { rows } = result as { rows?: unknown }
  if (Array.isArray(rows)) return { ...result, rows: camelCaseRows(rows) }
  const camel = (name: string): string => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())
  return Object.fromEntries(Object.entries(result).map(([name, value]) => [camel(name), value]))
}
