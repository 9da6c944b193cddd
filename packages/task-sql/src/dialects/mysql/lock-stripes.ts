import { TaskError } from '@taskstream/task-api'
import type { Locks } from '../../core/dialect.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { MysqlTables } from './schema.ts'
import type { Row, Verb } from '../../core/verb.ts'
import { allStripes, countedStripes, stripeCount, toStripe } from '../shared/lock-stripes.ts'
import { keysOf, textsOf } from './values.ts'
import type { MysqlVariant } from './variants.ts'

/**
 * Lock stripes on MariaDB and MySQL. At REPEATABLE READ, the default of these servers, plain reads may be older than locks. A plain read of
 * a stripe then gives another count than the locking read, and the call is refused.
 */
export function lockStripes({ lane: stripes }: MysqlTables, variant: MysqlVariant): Pick<Locks, 'stripes' | 'junction'> {
  const at = (topic: string, keys: readonly number[]): Statement =>
    sql`${keysOf(keys)} straight_join ${stripes} l force index (primary) on l.topic = ${topic} and l.lane = w.wanted`

  function* count(topic: string, locked: readonly Row[]): Verb<readonly number[]> {
    const keys = locked.map(toStripe)
    const seen = new Map(
      (yield sql`select l.lane, l.polled from ${at(topic, keys)}`).map((row) => [toStripe(row), row['polled']]),
    )
    if (locked.some((row) => Number(seen.get(toStripe(row))) !== Number(row['polled']))) throw readsArePast(topic)
    yield sql`update ${at(topic, keys)} set l.polled = l.polled + 1`
    return keys
  }

  return countedStripes({
    stripeOf: (identifier) => sql`(crc32(${identifier}) & ${raw(String(stripeCount - 1))})`,
    textsOf,
    digitsOf: (number) => sql`cast(${number} as char)`,
    numberOf: (digits) => sql`cast(${digits} as signed)`,
    lock: function* (topic, keys, mode, limit) {
      const most = limit === undefined ? nothing : sql` limit ${limit}`
      const locked = yield sql`select l.lane, l.polled from ${at(topic, keys)}${most} ${variant.lock('l', mode)}`
      return locked.length === 0 ? [] : yield* count(topic, locked)
    },
  })
}

export function openStripes({ lane: stripes }: MysqlTables, topic: string): readonly Statement[] {
  return [sql`insert ignore into ${stripes} (topic, lane) select ${topic}, w.wanted from ${keysOf(allStripes)}`]
}

function readsArePast(topic: string): TaskError {
  return new TaskError(
    'ISOLATION_UNSUPPORTED',
    `Topic "${topic}" can only be polled or joined at READ COMMITTED, and the transaction does not see what others have just committed`,
    { topic, needed: 'read committed' },
  )
}
