/**
 * Locks as Oracle takes them: as rows are fetched where others are passed over, and so no more may be fetched than are wanted, as a select that locks
 * cannot be limited (ORA-02014). Nowhere is it said whether a row that was changed and let go of since the statement began is looked at again
 * before it is locked. So whatever was locked is read again by its key, in a statement of its own, which at READ COMMITTED sees it as it is.
 */
import type { Locks } from '../../core/dialect.ts'
import type { Selection } from '../../core/requests.ts'
import { toNumber } from '../../core/task-row.ts'
import type { OracleTables } from './schema.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { Row, Verb } from '../../core/verb.ts'
import { keysOf } from './values.ts'

interface OracleLocks extends Pick<Locks, 'periodic' | 'tasks'> {
  /** Rows `t` looked up one by one: what stands between `from` and the rest of a condition. */
  at(topic: string, keys: readonly number[], table?: Statement, key?: string): Statement
  /** The same as a condition, for statements that lock and change: they take a table, and no join. */
  keyed(topic: string, keys: readonly number[], key?: string): Statement
}

/** Few keys are expected, whatever JSON_TABLE is taken for: each is looked up by the primary key. */
export const byKeyHint = 'leading(w@keys t) use_nl(t) index(t)'

export function oracleLocks({ task, periodic }: OracleTables): OracleLocks {
  const at: OracleLocks['at'] = (topic, keys, table = task, key = 'sequence') => sql`
    (select /*+ leading(w t) use_nl(t) index(t) */ t.*
       from ${keysOf(keys)}, ${table} t
      where t.topic = ${topic} and t.${raw(key)} = w.wanted) t
     where 1 = 1`
  const keyed: OracleLocks['keyed'] = (topic, keys, key = 'sequence') =>
    sql`t.topic = ${topic} and t.${raw(key)} in (select /*+ unnest qb_name(keys) */ w.wanted from ${keysOf(keys)})`

  function* lockTasks({ topic, sequences, read, which, first, locked }: Selection, columns: Statement): Verb<readonly Row[]> {
    const asked = which ? sql` and ${which}` : nothing
    const order = first?.orderBy ?? raw('t.sequence')
    const cursor = sql`
      select /*+ ${raw(sequences ? byKeyHint : 'first_rows(100)')} */ t.sequence
        from ${read?.from ?? sql`${task} t`}
       where ${sequences ? keyed(topic, sequences) : (read?.topic ?? sql`t.topic = ${topic}`)}${asked}
       order by ${order}
       ${lockOf(locked)}`
    const found = yield first ? { ...cursor, fetch: first.limit } : cursor
    if (found.length === 0) return []
    const keys = found.map(({ sequence }) => toNumber(sequence))
    return yield sql`select ${columns} from ${at(topic, keys)}${asked} order by ${order}`
  }
  function* lockPeriodic(which: Statement, locked: Selection['locked'], columns: Statement): Verb<readonly Row[]> {
    const found = yield sql`select t.id from ${periodic} t where ${which} order by t.scope, t.id ${lockOf(locked)}`
    return found.length === 0 ? [] : yield sql`select ${columns} from ${periodic} t where ${which} order by t.scope, t.id`
  }
  return { at, keyed, periodic: lockPeriodic, tasks: lockTasks }
}

export function lockOf(mode: Selection['locked']): Statement {
  return raw(mode === 'skip' ? 'for update skip locked' : 'for update')
}
