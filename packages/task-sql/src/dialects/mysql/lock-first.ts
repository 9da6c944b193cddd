/**
 * Finds the first ready rows without locks, and then locks them by their keys. A locking read through another index locks the index entry
 * before the row. If another transaction has locked the row, the read skips it but keeps the lock on the entry. Then no other poll could
 * take that task, and a transaction that changes it would have to wait.
 */
import type { MysqlTables } from './schema.ts'
import { states } from '../../core/states.ts'
import { sql } from '../../core/statement.ts'
import type { LockFirst } from '../shared/claim-by-key.ts'
import { noSequence } from './values.ts'
import type { MysqlVariant } from './variants.ts'

/** How many extra rows a poll reads, because other polls may be working on the first ones. If all were locked, it reads the second number. */
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
    // At REPEATABLE READ there may be rows that the transaction's plain reads do not see. Only a locking read finds them.
    return yield sql`
      select ${columns}
        from ${open}
       where ${ready} and ${which} and not exists (select 1 from ${open} where ${ready})
       order by t.sequence
       limit ${size}
       ${lock}`
  }
}
