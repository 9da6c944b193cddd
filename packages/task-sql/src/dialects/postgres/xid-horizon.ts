import { raw, sql } from '../../core/statement.ts'
import { historyOf, sessionsRun } from './claim-statement.ts'
import type { Verb } from '../../core/verb.ts'
import type { PendingAdvance } from './watermarks.ts'
import type { PostgresTables } from './tables.ts'

/** A pair that has not settled for so long is looked into, and again after as long. Costs two reads of the lock table. */
const patienceMs = 100

/**
 * Settles a pair that some long transaction keeps from settling by its id, if that transaction has nothing to do with tasks:
 * a report that writes for an hour must not make polls read all that was done in that hour.
 *
 * Whoever has pushed and not ended holds a lock on the table, taken before the first sequence was drawn. So when everybody who
 * held one after the high watermark was drawn has ended, everything up to the high watermark is visible: to the next statement, not to this one,
 * whose snapshot may be older than their commits. The transaction that asks is no exception: what it has pushed itself others do not see yet,
 * and they share what is learned here.
 */
export function* advanceByLocks(
  tables: PostgresTables,
  topic: string,
  history: string,
  pending: PendingAdvance,
): Verb<PendingAdvance> {
  if (performance.now() - pending.since < patienceMs) return pending
  const [row] = yield sql`
    select case when ${historyOf(tables, raw(sessionsRun))} = ${history} then 1 else 0 end as same,
           (select pg_catalog.string_agg(l.virtualtransaction, ' ')
              from pg_catalog.pg_locks l
             where l.locktype = 'relation'
               and l.relation = ${tables.taskClass}
               and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
               and l.mode = 'RowExclusiveLock') as holders
      from ${tables.topic} p
     where p.topic = ${topic}`
  // Another database, or server, says nothing of this one.
  if (Number(row?.['same']) !== 1) return pending
  const holders = new Set(
    String(row?.['holders'] ?? '')
      .split(' ')
      .filter(Boolean),
  )
  const remaining = pending.holders?.filter((holder) => holders.has(holder)) ?? [...holders]
  // Every snapshot's xmin is beyond transaction 0: the pair counts as settled from the next statement on.
  return remaining.length === 0 ? { ...pending, horizon: '0' } : { ...pending, holders: remaining, since: performance.now() }
}
