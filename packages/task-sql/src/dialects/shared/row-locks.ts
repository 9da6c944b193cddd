/** For databases where a select with a limit may lock its rows: one statement locks them and returns their latest values. */
import type { AccessPaths, Dialect, Locks } from '../../core/dialect.ts'
import type { Selection } from '../../core/requests.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'

interface Parts extends Pick<Dialect, 'tables'>, Pick<AccessPaths, 'byKeys'> {
  /** Ends a select whose rows are to be locked until the transaction ends. */
  lock(table: string, mode: Selection['locked']): Statement
}

/** Ends a select that returns at most `count` rows. */
export const limit = (count: Statement): Statement => sql`limit ${count}`

export function rowLocks({ tables, byKeys, lock }: Parts): Pick<Locks, 'periodic' | 'tasks'> {
  return {
    tasks: function* ({ topic, sequences, read, which, first, locked }, columns) {
      const rows = sequences
        ? byKeys(topic, sequences)
        : sql`${read?.from ?? sql`${tables.task} t`} where ${read?.topic ?? sql`t.topic = ${topic}`}`
      return yield sql`
        select ${columns}
          from ${rows}${which ? sql` and ${which}` : nothing}
         order by ${first?.orderBy ?? raw('t.sequence')}
         ${first ? limit(sql`${first.limit}`) : nothing}
         ${lock('t', locked)}`
    },
    periodic: function* (which, locked, columns) {
      return yield sql`
        select ${columns}
          from ${tables.periodic} t
         where ${which}
         order by t.scope, t.id
         ${lock('t', locked)}`
    },
  }
}
