/**
 * Row locks on Oracle. With `skip locked` Oracle locks rows as they are fetched. A select that locks cannot be limited (ORA-02014), so no
 * more rows may be fetched than are wanted.
 *
 * Another transaction may change and release a row after the statement began. Oracle's documentation does not say whether the statement
 * then checks the row again. So a second statement reads the locked rows by their keys: at READ COMMITTED it sees their latest values.
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
  /** A table and a condition, to follow `from`: the rows `t` of these keys, each looked up in an index. */
  at(topic: string, keys: readonly number[], table?: Statement, key?: string): Statement
  /** The same as a condition only, for statements that lock or change rows: these take a table, and no join. */
  keyed(topic: string, keys: readonly number[], key?: string): Statement
}

/** Hints for few keys, however many rows Oracle expects of JSON_TABLE: each key is looked up in the primary key. */
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
