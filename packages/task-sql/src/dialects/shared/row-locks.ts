/** Locking where a select may be limited and locks what it returns, as that is then: one statement does. */
import type { Dialect, Selection } from '../../core/dialect.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'

interface Parts extends Pick<Dialect, 'tables' | 'tasksAt'> {
  /** Ends a select whose rows are to be locked until the transaction ends. */
  lock(table: string, mode: Selection['locked']): Statement
}

export function limitedLocks({ tables, tasksAt, lock }: Parts): Pick<Dialect, 'limit' | 'lockPeriodic' | 'lockTasks'> {
  const limit = (count: Statement): Statement => sql`limit ${count}`
  return {
    limit,
    lockTasks: function* ({ topic, sequences, read, which, first, locked }, columns) {
      const rows = sequences
        ? tasksAt(topic, sequences)
        : sql`${read?.from ?? sql`${tables.task} t`} where ${read?.topic ?? sql`t.topic = ${topic}`}`
      return yield sql`
        select ${columns}
          from ${rows}${which ? sql` and ${which}` : nothing}
         order by ${first?.orderBy ?? raw('t.sequence')}
         ${first ? limit(sql`${first.limit}`) : nothing}
         ${lock('t', locked)}`
    },
    lockPeriodic: function* (which, locked, columns) {
      return yield sql`
        select ${columns}
          from ${tables.periodic} t
         where ${which}
         order by t.scope, t.id
         ${lock('t', locked)}`
    },
  }
}
