import type { Claims, Dialect, Expressions } from '../../core/dialect.ts'
import type { Claim, ClaimRequest } from '../../core/requests.ts'
import { claimStatus, mayClaim, plainMode } from '../../core/topic-mode.ts'
import { toNumber } from '../../core/task-row.ts'
import { states } from '../../core/states.ts'
import { nothing, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { Row, Verb } from '../../core/verb.ts'
import { anyPlan } from '../../core/define-dialect.ts'

/** Locks the first ready rows `t` that meet a condition, and skips rows that others have locked. @returns these columns of each, in order */
export type LockFirst = (request: Pick<ClaimRequest, 'topic' | 'size' | 'columns'>, which: Statement) => Verb<readonly Row[]>

interface Parts extends Pick<Dialect, 'tables'> {
  readonly now: Expressions['now']
  readonly lockFirst: LockFirst
  readonly alsoSet?: Claims['alsoSet']
  update(topic: string, keys: readonly number[], set: Statement): Statement
}

/** A claim of two statements: the first locks rows, and the second makes them active by their keys. */
export function claimByKey({ tables, lockFirst, update, now: instant, alsoSet = nothing }: Parts): Claims['plain'] {
  return function* (request: ClaimRequest): Verb<Claim> {
    const { topic, owner, now } = request
    const found = yield* lockFirst(request, mayClaim({ tables }, topic, owner, plainMode))
    if (found.length === 0) return { rows: found, ...(yield* claimStatus({ tables, plans: anyPlan }, topic, owner)) }
    const keys = found.map(({ sequence }) => toNumber(sequence))
    const set = sql`
           ${alsoSet}state = ${states.active},
           reason = null,
           owner = ${owner},
           attempt = t.attempt + 1,
           tries = t.tries + 1,
           started = ${instant(now)}`
    yield update(topic, keys, set)
    const taken = found.map((row) => ({ ...row, attempt: toNumber(row['attempt']) + 1, tries: toNumber(row['tries']) + 1 }))
    return { rows: taken, mode: plainMode, ownerKnown: true }
  }
}
