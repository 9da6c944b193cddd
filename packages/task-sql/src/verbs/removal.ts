/** Removing tasks, with all that is kept of them in other tables. */
import type { Dialect } from '../core/dialect.ts'
import { raw } from '../core/statement.ts'
import type { Row, Verb } from '../core/verb.ts'

/** Deletes rows that are already locked. @returns their `identifier` and `stage`, for `enqueueRechecksOfDeleted` */
export function* removeTasks(dialect: Dialect, topic: string, sequences: readonly number[]): Verb<readonly Row[]> {
  const { task, result, attempt, dependency } = dialect.tables
  const chosen = { key: 'sequence', topic, keys: sequences }
  for (const table of [result, attempt, dependency]) yield* dialect.writes.remove({ table, ...chosen })
  return yield* dialect.writes.remove({ table: task, ...chosen, returning: raw('identifier, stage') })
}

/** Deletes the results of tasks that begin anew. */
export function forgetResults(dialect: Dialect, topic: string, sequences: readonly number[]): Verb<readonly Row[]> {
  return dialect.writes.remove({ table: dialect.tables.result, key: 'sequence', topic, keys: sequences })
}
