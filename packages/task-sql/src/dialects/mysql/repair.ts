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
  // It must stand in the text; it is a number.
  const last = raw(String(toNumber(row['sequence'])))
  // Never moved back, whoever draws from it meanwhile: no value means that it is farther already. At first the last row's is to come next.
  const [moved] = yield sql`select setval(${sequence}, ${last}, 0) as sequence`
  if (moved?.['sequence'] == null) return 'ahead'
  yield sql`select setval(${sequence}, ${last}) as sequence`
  return 'moved'
}
