/** For databases without RETURNING: rows are locked first, then changed by their keys. */
import type { Expressions, Writes } from '../../core/dialect.ts'
import type { Selection } from '../../core/requests.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { Verb } from '../../core/verb.ts'

interface Parts extends Pick<Expressions, 'latest'> {
  /** A table (default: that of tasks) and a condition, to follow `from`: the rows `t` of these keys, each looked up in an index. */
  at(topic: string, keys: readonly number[], table?: Statement, key?: string): Statement
  /** Locks the rows that are to be changed, and checks the condition on their latest values. @returns their sequences */
  lockRows(selection: Selection): Verb<readonly number[]>
  update(topic: string, keys: readonly number[], set: Statement): Statement
  /** Ends in a condition, which others may follow. */
  remove(topic: string, keys: readonly number[], table: Statement, key: string): Statement
}

export function writesByKey({ at, lockRows, update, remove, latest }: Parts): Pick<Writes, 'change' | 'remove' | 'touched'> {
  return {
    change: function* ({ set, returning: told, ...selection }) {
      const { topic } = selection
      const found = yield* lockRows(selection)
      if (found.length === 0) return []
      yield update(topic, found, set)
      return told ? yield sql`select ${told} from ${at(topic, found)}` : found.map((sequence) => ({ sequence }))
    },
    remove: function* ({ table, key, topic, keys, which, returning: told }) {
      const also = which ? sql` and ${which}` : nothing
      // The rows are read as last committed, as the transaction's snapshot may be older.
      const found = told ? yield sql`select ${told} from ${at(topic, keys, table, key)}${also} ${latest}` : []
      yield sql`${remove(topic, keys, table, key)}${also}`
      return found
    },
    touched: function* (write) {
      const [told] = yield write
      return Number(told?.['affectedRows'] ?? 0)
    },
  }
}

export const everyRow: Statement = raw('1 = 1')
