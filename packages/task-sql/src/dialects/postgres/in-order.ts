/** Rows of a topic that an index has in order, written so that the planner reads it so if the table was never analysed. */
import type { AccessPaths } from '../../core/dialect.ts'
import { raw, sql } from '../../core/statement.ts'
import type { PostgresTables } from './tables.ts'

export function inOrder({ task }: PostgresTables): Pick<AccessPaths, 'attemptsOf' | 'orderByEnd' | 'byDue'> {
  return {
    // Of two values found by equality the planner would expect hardly any rows, and sort all of them. Of one it does so, too, and nothing helps.
    attemptsOf: ({ topic, fingerprint, since = raw(`'-infinity'`) }) =>
      fingerprint === undefined
        ? sql`t.topic = ${topic} and t.ended >= ${since}`
        : sql`t.topic = ${topic} and (t.fingerprint, t.ended) >= (${fingerprint}, ${since}) and t.fingerprint <= ${fingerprint} and t.fingerprint is not null`,
    orderByEnd: (by, direction) => raw(`${by === 'fingerprint' ? `t.fingerprint ${direction}, ` : ''}t.ended ${direction}`),
    // By equality a partition is found. Because of `coalesce` the planner expects that half of the rows will do, and stops when it has enough.
    byDue: (topic, which) => sql`${task} t
     where t.topic = ${topic} and t.due is not null and coalesce(${which}, false)
     order by t.topic, t.due`,
  }
}
