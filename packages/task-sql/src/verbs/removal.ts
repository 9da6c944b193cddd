/** Removing tasks, with all that is kept of them in other tables. */
import type { Dialect } from '../core/dialect.ts'
import { raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import type { Row, Verb } from '../core/verb.ts'

/** Deletes rows that are already locked. @returns their `identifier` and `stage`, for `enqueueRechecksOfDeleted` */
export function* removeTasks(dialect: Dialect, topic: string, sequences: readonly number[]): Verb<readonly Row[]> {
  const { task, result, attempt } = dialect.tables
  for (const table of [result, attempt]) yield* forget(dialect, table, topic, sequences)
  return yield* dialect.writes.remove({
    table: task,
    key: 'sequence',
    topic,
    keys: sequences,
    returning: raw('identifier, stage'),
  })
}

/** Deletes the results of tasks that begin anew. */
export function forgetResults(dialect: Dialect, topic: string, sequences: readonly number[]): Verb<void> {
  return forget(dialect, dialect.tables.result, topic, sequences)
}

/** Most topics keep neither results nor attempts: they pay for a look into an index, and not for the list of keys. */
function* forget(dialect: Dialect, table: Statement, topic: string, sequences: readonly number[]): Verb<void> {
  const [first, last] = [
    sequences.reduce((one, other) => Math.min(one, other)),
    sequences.reduce((one, other) => Math.max(one, other)),
  ]
  // mutants: equivalent sql-number `limit(raw('1'))`, one row answers as much as several
  // mutants: equivalent sql-logic `t.topic = ${topic} and t.sequence`, a delete of no rows deletes nothing
  const some = yield sql`
    select t.sequence
      from ${table} t
     where t.topic = ${topic} and t.sequence between ${first} and ${last}
     ${dialect.expr.limit(raw('1'))} ${dialect.expr.latest}`
  // mutants: equivalent condition:true boundary, a delete of no rows deletes nothing
  if (some.length > 0) yield* dialect.writes.remove({ table, key: 'sequence', topic, keys: sequences })
}
