import { raw, sql } from '../statement.ts'
import type { Statement } from '../statement.ts'
import type { PostgresTables } from '../schema/postgres-tables.ts'

/**
 * Whether a transaction that is still open has this id, in a column of four bytes: this one, a savepoint of it that was not rolled back to, or
 * another. The server is asked by eight bytes, which are the nearest that end so. What several lock is no id; it is taken for an old one.
 */
export function isOpen(column: string): Statement {
  const near = '(select pg_snapshot_xmax(pg_current_snapshot())::text::int8 + 2147483647)'
  return raw(
    `pg_xact_status(greatest(3, ${near} - ((${near} - ${column}::text::int8) & 4294967295))::text::xid8) = 'in progress'`,
  )
}

/**
 * Whether this transaction has locked the row `t` before, and nothing more.
 *
 * Most often the lock bears its own id. One that was taken inside a savepoint bears the savepoint's, of which a transaction has no list. So if the
 * locker is open, the row is locked once more: what others have locked is passed over, and a locker that is still open then is this transaction.
 */
export function lockedHere({ task }: PostgresTables): Statement {
  return sql`(t.xmax = pg_current_xact_id_if_assigned()::xid
              or case when t.xmax <> '0'::xid and ${isOpen('t.xmax')}
                      then (select ${isOpen('l.locker')}
                              from (select l.xmax as locker
                                      from ${task} l
                                     where l.topic = t.topic and l.sequence = t.sequence
                                       for update skip locked) l)
                      else false end)`
}
