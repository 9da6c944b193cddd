/**
 * Lock stripes as rows of a table. A transaction that locks a stripe also increases the stripe's count. Where plain reads may be older
 * than locks, the count shows that another transaction has had the stripe since.
 */
import type { Locks } from '../../core/dialect.ts'
import type { Selection } from '../../core/requests.ts'
import { toNumber } from '../../core/task-row.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { Row, Verb } from '../../core/verb.ts'

/** The number of stripes, a power of two. Identifiers that share a stripe delay each other, but only while a poll's transaction lasts. */
export const stripeCount = 1024

/** The first half of the stripes is for polls, the second half for junctions. */
export const allStripes: readonly number[] = Array.from({ length: 2 * stripeCount }, (_, lane) => lane)

interface Parts {
  /** The stripe of an identifier, below `stripeCount`. */
  stripeOf(identifier: Statement): Statement
  /** Texts as the column `wanted` of a table `w`. */
  textsOf(texts: readonly string[]): Statement
  /** A whole number as text. A place may be beyond 2^53, where a JavaScript number is no longer exact. */
  digitsOf(number: Statement): Statement
  /** The whole number that `digitsOf` wrote. */
  numberOf(digits: string): Statement
  /** Locks stripes one after the other, in the order given, until `limit` are locked, and increases their counts. @returns the locked ones */
  lock(topic: string, stripes: readonly number[], locked: Selection['locked'], limit?: number): Verb<readonly number[]>
}

export function countedStripes({ stripeOf, textsOf, digitsOf, numberOf, lock }: Parts): Pick<Locks, 'stripes' | 'junction'> {
  return {
    stripes: function* (topic, candidates, limit) {
      const wanted = yield sql`
        select ${stripeOf(raw('c.identifier'))} as lane, ${digitsOf(raw('min(c.place)'))} as nearest
          from (${candidates}) c
         group by ${stripeOf(raw('c.identifier'))}
         order by min(c.place)`
      if (wanted.length === 0) return undefined
      const placeOf = new Map(wanted.map((row) => [toStripe(row), String(row['nearest'])]))
      const stripes = yield* lock(topic, [...placeOf.keys()], 'skip', limit)
      if (stripes.length === 0) return undefined
      const last = stripes.map((lane) => BigInt(placeOf.get(lane)!)).reduce((left, right) => (left > right ? left : right))
      return {
        // The text has one character for each stripe. A character is found directly; a list would be searched for every row. It is compared as a number:
        // the collation of the connection need not be that of its literals.
        holds: (identifier) => sql`substr(${charactersOf(stripes)}, ${stripeOf(identifier)} + 1, 1) + 0 = 1`,
        reaches: (place) => (stripes.length < limit ? raw('1 = 1') : sql`${place} <= ${numberOf(String(last))}`),
        all: stripes.length < limit,
      }
    },
    // Junctions have their own stripes: a junction may wait for another one, but polls and junctions never wait for each other. All
    // junctions lock stripes in the same order, so that they cannot deadlock.
    junction: function* (topic, identifiers) {
      const hashes = yield sql`select distinct ${stripeOf(raw('w.wanted'))} as lane from ${textsOf(identifiers)}`
      const stripes = hashes.map((row) => stripeCount + toStripe(row)).toSorted((left, right) => left - right)
      yield* lock(topic, stripes, 'wait')
    },
  }
}

/** Makes the missing stripes of a topic. Existing stripes are not written to, because polls may have locked some of them. */
export function* openMissing(stripes: Statement, topic: string, open: readonly Statement[]): Verb<number> {
  const [row] = yield sql`select count(*) as count from ${stripes} l where l.topic = ${topic}`
  if (toNumber(row?.['count']) < allStripes.length) for (const statement of open) yield statement
  return 0
}

export function toStripe(row: Row): number {
  return toNumber(row['lane'])
}

function charactersOf(stripes: readonly number[]): string {
  const held = new Set(stripes)
  return Array.from({ length: stripeCount }, (_, lane) => (held.has(lane) ? '1' : '0')).join('')
}
