import type { Repair } from '@taskstream/task-api'
import { toNumber } from '../../core/task-row.ts'
import type { MysqlTables } from './schema.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Verb } from '../../core/verb.ts'

export function* advanceMariadbSequence({ task, topic, sequence }: MysqlTables): Verb<Repair['sequence']> {
  const [row] = yield sql`
    select max(l.sequence) as sequence
      from (select (select t.sequence
                      from ${task} t force index (primary)
                     where t.topic = p.topic
                     order by t.sequence desc
                     limit 1) as sequence
              from ${topic} p) l`
  if (row?.['sequence'] == null) return 'ahead'
  // The value must stand in the text of `setval`. That is safe, because it is a number.
  const last = raw(String(toNumber(row['sequence'])))
  // `setval` never moves a sequence back, and returns null if the sequence is farther already. The first call makes the last row's number
  // the next one: only if that works is the sequence behind, and the second call moves it past that number.
  const [moved] = yield sql`select setval(${sequence}, ${last}, 0) as sequence`
  if (moved?.['sequence'] == null) return 'ahead'
  yield sql`select setval(${sequence}, ${last}) as sequence`
  return 'moved'
}
