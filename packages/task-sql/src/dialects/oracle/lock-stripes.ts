import type { Locks } from '../../core/dialect.ts'
import type { OracleTables } from './schema.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import { allStripes, countedStripes, stripeCount, toStripe } from '../shared/lock-stripes.ts'
import { lockOf } from './row-locks.ts'
import { keysOf, textsOf } from './values.ts'

/** How many digits the place of a stripe has. */
const digits = 3
const noPlace = '-'.repeat(digits)

/**
 * Lock stripes on Oracle. At READ COMMITTED each statement sees everything that was committed before it. At SERIALIZABLE it does not, but a
 * stripe whose count has changed since the transaction began cannot be locked (ORA-08177).
 */
export function lockStripes({ lane: stripes }: OracleTables): Pick<Locks, 'stripes' | 'junction'> {
  return countedStripes({
    stripeOf: (identifier) => sql`ora_hash(${identifier}, ${raw(String(stripeCount - 1))})`,
    textsOf,
    digitsOf: (number) => sql`to_char(${number})`,
    numberOf: (digits) => sql`to_number(${digits})`,
    lock: function* (topic, keys, mode, limit) {
      const half = (keys[0] ?? 0) < stripeCount ? 0 : stripeCount
      // One text has the places of all stripes, three digits for each. It says which stripes are asked for, and in which order.
      const place = sql`substr(${placesOf(keys, half)}, (l.lane - ${half}) * ${raw(String(digits))} + 1, ${raw(String(digits))})`
      const cursor = sql`
        select /*+ index(l) */ l.lane
          from ${stripes} l
         where l.topic = ${topic} and l.lane between ${half} and ${half + stripeCount - 1} and ${place} <> ${noPlace}
         order by ${place}
         ${lockOf(mode)}`
      const locked = (yield limit === undefined ? cursor : { ...cursor, fetch: limit }).map(toStripe)
      if (locked.length > 0) {
        yield sql`
          update ${stripes} l
             set polled = l.polled + 1
           where l.topic = ${topic} and l.lane in (select w.wanted from ${keysOf(locked)})`
      }
      return locked
    },
  })
}

export function openStripes({ lane: stripes }: OracleTables, topic: string): readonly Statement[] {
  return [
    sql`
      insert /*+ ignore_row_on_dupkey_index(task_lane (topic, lane)) */
        into ${stripes} (topic, lane)
      select ${topic}, level - 1 from dual connect by level <= ${allStripes.length}`,
  ]
}

function placesOf(keys: readonly number[], half: number): string {
  const places = Array.from({ length: stripeCount }, () => noPlace)
  for (const [place, lane] of keys.entries()) places[lane - half] = place.toString(16).padStart(digits, '0')
  return places.join('')
}
