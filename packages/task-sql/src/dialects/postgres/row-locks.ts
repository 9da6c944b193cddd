import { raw } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'

/**
 * A setting of the transaction: the tasks that it has polled and only locked, as a JSON object from sequence to attempt. A task that was
 * completed and then reset has another attempt.
 *
 * PostgreSQL does not tell which rows a transaction has locked. But it undoes such a setting exactly when it releases the rows: at the
 * end of the transaction, or when the transaction rolls back to an earlier savepoint.
 */
const setting = 'taskstream.locked'

/** True for a row `t` that this transaction has polled and only locked. */
export const lockedHere: Statement = raw(
  `coalesce(((select nullif(pg_catalog.current_setting('${setting}', true), '')::jsonb) -> t.sequence::text)::int8 = t.attempt, false)`,
)

/**
 * Keeps the rows of a query in the setting, if there are any. The result is an empty text. Only the first poll of a transaction may
 * leave its rows just locked, so the setting was empty before.
 */
export function noteLocked(rows: string): Statement {
  return raw(`case when exists (select from ${rows})
                   then pg_catalog.left(pg_catalog.set_config('${setting}', (select pg_catalog.jsonb_object_agg(sequence, attempt)::text from ${rows}), true), 0) end`)
}
