import { raw } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'

/**
 * A setting of the transaction: sequences that it has polled and only locked, as the keys of a JSON object, and by which attempt: a task that was
 * completed and is reset has another.
 *
 * PostgreSQL does not tell which rows a transaction has locked. But it undoes such a setting exactly where it lets go of rows: at the end of the
 * transaction, and where a savepoint is rolled back to that was made before.
 */
const setting = 'taskstream.locked'

/** True for a row `t` that this transaction has polled and only locked. */
export const lockedHere: Statement = raw(
  `coalesce(((select nullif(pg_catalog.current_setting('${setting}', true), '')::jsonb) -> t.sequence::text)::int8 = t.attempt, false)`,
)

/** Notes the rows of a query, if there are any; no text comes of it. A transaction locks by its first poll only: nothing was noted before. */
export function noteLocked(rows: string): Statement {
  return raw(`case when exists (select from ${rows})
                   then pg_catalog.left(pg_catalog.set_config('${setting}', (select pg_catalog.jsonb_object_agg(sequence, attempt)::text from ${rows}), true), 0) end`)
}
