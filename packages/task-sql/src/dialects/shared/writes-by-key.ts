/** For databases without RETURNING: rows are locked first, then changed by their keys. */
import type { Expressions, Writes } from '../../core/dialect.ts'
import type { Selection } from '../../core/requests.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { Verb } from '../../core/verb.ts'

interface Parts extends Pick<Expressions, 'latest'> {
  /** Rows `t` of a table, the task table if none is named, looked up one by one: what stands between `from` and the rest of a condition. */
  at(topic: string, keys: readonly number[], table?: Statement, key?: string): Statement
  /** Locks the rows that are to be changed, and looks at them as they are then. @returns their sequences */
  lockRows(selection: Selection): Verb<readonly number[]>
  update(topic: string, keys: readonly number[], set: Statement): Statement
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
    remove: function* ({ table, key, topic, keys, returning: told }) {
      // As they are, and not as an older view has them.
      const found = told ? yield sql`select ${told} from ${at(topic, keys, table, key)} ${latest}` : []
      yield remove(topic, keys, table, key)
      return found
    },
    touched: function* (write) {
      const [told] = yield write
      return Number(told?.['affectedRows'] ?? 0)
    },
  }
}

/** True for every row. */
export const everyRow: Statement = raw('1 = 1')
