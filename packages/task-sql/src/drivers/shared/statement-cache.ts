import { Cache, perOwner, renderer } from '../../core/cache.ts'
import type { Statement } from '../../core/statement.ts'

/** More texts than the verbs have: it only guards against a caller that makes texts of its own. */
const capacity = 200

/** Prepared statements by connection and text: preparing costs SQLite more than most statements do. */
export function statementCache<Database extends { prepare(text: string): Prepared }, Prepared>(): (
  database: Database,
  statement: Statement,
) => Prepared {
  const textOf = renderer(() => '?')
  const preparedOn = perOwner<Database, Cache<string, Prepared>>(() => new Cache(capacity))
  return (database, statement) => preparedOn(database).get(textOf(statement), (text) => database.prepare(text))
}
