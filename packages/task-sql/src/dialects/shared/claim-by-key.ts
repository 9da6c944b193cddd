import type { Claims, Dialect, Expressions, Locks } from '../../core/dialect.ts'
import type { Claim, ClaimRequest, Selection } from '../../core/requests.ts'
import { claimStatus, mayClaim, plainMode } from '../../core/topic-mode.ts'
import { toNumber } from '../../core/task-row.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { Verb } from '../../core/verb.ts'
import { anyPlan } from '../../core/define-dialect.ts'

interface Parts extends Pick<Dialect, 'tables'> {
  readonly now: Expressions['now']
  readonly lockTasks: Locks['tasks']
  /** The task table as `t`, to be read by topic, state and sequence in that order. */
  readonly open: Statement
  update(topic: string, keys: readonly number[], set: Statement): Statement
}

/** Locks the first ready rows by an index that has them in order, passing over what others have locked, and takes them by their keys. */
export function claimByKey({ tables, open, lockTasks, update, now: instant }: Parts): Claims['plain'] {
  return function* ({ topic, owner, size, now, columns }: ClaimRequest): Verb<Claim> {
    const selection: Selection = {
      topic,
      read: { from: open, topic: sql`t.topic = ${topic}` },
      which: sql`t.state = 1 and ${mayClaim({ tables }, topic, owner, plainMode)}`,
      first: { orderBy: raw('t.sequence'), limit: size },
      locked: 'skip',
    }
    const found = yield* lockTasks(selection, columns)
    if (found.length === 0) return { rows: found, ...(yield* claimStatus({ tables, plans: anyPlan }, topic, owner)) }
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
    return { rows: taken, mode: plainMode, ownerKnown: true }
  }
}
