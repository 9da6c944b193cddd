import { Cache, perOwner, renderer } from '../../core/cache.ts'
import type { Statement } from '../../core/statement.ts'

/** The verbs have fewer texts. The limit guards against a caller that makes texts of its own. */
const capacity = 200

/** Keeps prepared statements by connection and text, as preparing costs SQLite more than running most statements. */
export function statementCache<Database extends { prepare(text: string): Prepared }, Prepared>(): (
  database: Database,
  statement: Statement,
) => Prepared {
  const textOf = renderer(() => '?')
  const preparedOn = perOwner<Database, Cache<string, Prepared>>(() => new Cache(capacity))
  return (database, statement) => preparedOn(database).get(textOf(statement), (text) => database.prepare(text))
}
