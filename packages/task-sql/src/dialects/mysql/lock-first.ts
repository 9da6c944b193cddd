/**
 * The first ready rows, found without a lock and locked by their keys. A read that locks by another index takes the entry first and then the row:
 * where another has the row, it passes over it and keeps the entry. Nobody else could poll that task then, and whoever changes it would wait.
 */
import type { MysqlTables } from './schema.ts'
import { states } from '../../core/states.ts'
import { sql } from '../../core/statement.ts'
import type { LockFirst } from '../shared/claim-by-key.ts'
import { noSequence } from './values.ts'
import type { MysqlVariant } from './variants.ts'

/** Looks at so many more rows than are asked for, as others may be working on the first; and at more, if they are. */
const spares = [100, 10_000]

export function lockFirst({ task }: MysqlTables, variant: MysqlVariant): LockFirst {
  const lock = variant.lock('t', 'skip')
  const open = sql`${task} t force index (task_open)`
  return function* ({ topic, size, columns }, which) {
    const ready = sql`t.topic = ${topic} and t.state = ${states.ready}`
    for (const spare of spares) {
      const found = yield sql`
        select ${columns}
          from ((select t.sequence as wanted from ${open} where ${ready} order by t.sequence limit ${size + spare})
                union all
                select ${noSequence}) w
          straight_join ${task} t force index (primary) on t.topic = ${topic} and t.sequence = w.wanted
         where t.state = ${states.ready} and ${which}
         limit ${size}
         ${lock}`
      if (found.length > 0) return found
    }
    // At REPEATABLE READ there may be rows that the transaction does not see, and only a lock finds them.
    return yield sql`
      select ${columns}
        from ${open}
       where ${ready} and ${which} and not exists (select 1 from ${open} where ${ready})
       order by t.sequence
       limit ${size}
       ${lock}`
  }
}
