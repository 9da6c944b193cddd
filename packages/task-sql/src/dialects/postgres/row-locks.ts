import type { Locks } from '../../core/dialect.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import { toNumber } from '../../core/task-row.ts'
import type { PostgresTables } from './tables.ts'

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

/**
 * A row's `xmax` is the transaction that has locked or changed it last, and a transaction holds a lock on its own id until it ends. So nothing has to be
 * locked in order to look, and a transaction that only reads may do so. If several have locked a row at once, `xmax` is no transaction's id, and nothing
 * is seen.
 */
export function lockedBy({ task }: PostgresTables): NonNullable<Locks['lockedBy']> {
  return function* (topic, sequence) {
    const [row] = yield sql`
      select l.pid
        from ${task} t
        join pg_catalog.pg_locks l on l.locktype = 'transactionid' and l.transactionid = t.xmax and l.mode = 'ExclusiveLock' and l.granted
       where t.topic = ${topic} and t.sequence = ${sequence} and l.pid is distinct from pg_catalog.pg_backend_pid()
       limit 1`
    // A prepared transaction has no session.
    return row && (row['pid'] === null ? {} : { session: toNumber(row['pid']) })
  }
}
