import { raw, sql } from '../../core/statement.ts'
import { historyOf, sessionsRun } from './claim-statement.ts'
import type { Verb } from '../../core/verb.ts'
import type { PendingAdvance } from './watermarks.ts'
import type { PostgresTables } from './tables.ts'

/** After so long, the locks are read for a pending pair, and again after as long. It costs two reads of the lock table. */
const patienceMs = 100

/**
 * Lets the low watermark advance past a long transaction that has nothing to do with tasks. A report that writes for an hour must not
 * make polls read all tasks that were done in that hour.
 *
 * A transaction that has pushed holds a lock on the task table, which it took before it drew its first sequence. Suppose that all
 * transactions which held such a lock after the high watermark was drawn have ended. Then every row up to the high watermark is visible
 * to the next statement; the snapshot of this one may be older than their commits. The asking transaction counts too: other polls of
 * this process share the knowledge, and do not see its pushes yet.
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
  // Under another history the locks belong to another database or server.
  if (Number(row?.['same']) !== 1) return pending
  const holders = new Set(
    String(row!['holders'] ?? '')
      .split(' ')
      .filter(Boolean),
  )
  const remaining = pending.holders?.filter((holder) => holders.has(holder)) ?? [...holders]
  // Every snapshot's xmin is beyond transaction 0, so the low watermark advances with the next statement.
  return remaining.length === 0 ? { ...pending, horizon: '0' } : { ...pending, holders: remaining, since: performance.now() }
}
