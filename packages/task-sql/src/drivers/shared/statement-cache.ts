/** More texts than the verbs have: it only guards against a caller that makes texts of its own. */
const capacity = 200

/** Prepared statements by connection and text: preparing costs SQLite more than most statements do. */
export function statementCache<Database extends { prepare(text: string): Prepared }, Prepared>(): (
  database: Database,
  text: string,
) => Prepared {
  const databases = new WeakMap<Database, Map<string, Prepared>>()
  return (database, text) => {
    let statements = databases.get(database)
    if (!statements) databases.set(database, (statements = new Map()))
    const known = statements.get(text)
    if (known) return known
    if (statements.size >= capacity) statements.clear()
    const prepared = database.prepare(text)
    statements.set(text, prepared)
    return prepared
  }
}
