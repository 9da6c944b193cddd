/** Finds tasks by the error of their last attempt. */
import type { Dialect } from '../core/dialect.ts'
import { raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import type { Row, Verb } from '../core/verb.ts'

interface FailedBy {
  readonly fingerprint: string
  /** Conditions on rows `t` of tasks, each of which begins with ` and `. */
  readonly matching: Statement
  readonly limit: number
  /** Whether those that failed last come first. */
  readonly newest?: boolean
}

/** The `sequence` of tasks that match, and whose last attempt has failed by this kind of error: those that failed first come first. */
export function* failedBy(
  dialect: Dialect,
  topic: string,
  { fingerprint, matching, limit, newest = false }: FailedBy,
): Verb<readonly Row[]> {
  const { task } = dialect.tables
  // As a value of each row, not as a join: no statistics then make the database read all tasks.
  const isLast = sql`(select 1 from ${task} t where ${dialect.paths.byKey(sql`${topic}`, raw('a.sequence'))} and t.attempt = a.attempt${matching})`
  return yield sql`
    select a.sequence
      from ${dialect.paths.attempts('fingerprint', 'a')}
     where a.topic = ${topic} and a.fingerprint = ${fingerprint} and ${isLast} = 1
     order by a.ended ${raw(newest ? 'desc' : '')}
     ${dialect.expr.limit(sql`${limit}`)}`
}
