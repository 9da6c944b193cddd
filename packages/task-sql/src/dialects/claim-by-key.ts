import type { Claim, ClaimRequest, Dialect } from '../dialect.ts'
import { claimStatus, mayClaim, plainPolling } from '../repository/polling.ts'
import { toNumber } from '../repository/row.ts'
import { sql } from '../statement.ts'
import type { Statement } from '../statement.ts'
import type { Row, Verb } from '../transaction.ts'
import { anyScale } from './any-scale.ts'

/** Locks the first ready rows `t` that meet a condition, passing over what others have locked. @returns these columns of each, in order */
export type LockFirst = (request: Pick<ClaimRequest, 'topic' | 'size' | 'columns'>, which: Statement) => Verb<readonly Row[]>

interface Parts extends Pick<Dialect, 'now' | 'tables'> {
  readonly lockFirst: LockFirst
  update(topic: string, keys: readonly number[], set: Statement): Statement
}

/** Locks rows, and takes them by their keys. */
export function claimByKey({ tables, lockFirst, update, now: instant }: Parts): Dialect['claimPlain'] {
  return function* (request: ClaimRequest): Verb<Claim> {
    const { topic, owner, now } = request
    const found = yield* lockFirst(request, mayClaim({ tables }, topic, owner, plainPolling))
    if (found.length === 0) return { rows: found, ...(yield* claimStatus({ tables, ...anyScale }, topic, owner)) }
    const keys = found.map(({ sequence }) => toNumber(sequence))
    const set = sql`
           state = 0,
           reason = null,
           owner = ${owner},
           attempt = t.attempt + 1,
           tries = t.tries + 1,
           started = ${instant(now)}`
    yield update(topic, keys, set)
    const taken = found.map((row) => ({ ...row, attempt: toNumber(row['attempt']) + 1, tries: toNumber(row['tries']) + 1 }))
    return { rows: taken, polling: plainPolling, ownerKnown: true }
  }
}
