import type { Dialect } from '../core/dialect.ts'
import type { Claim, ClaimRequest } from '../core/requests.ts'
import { states } from '../core/states.ts'
import { raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'
import { claimStatus, mayClaim } from '../core/topic-mode.ts'
import type { TopicMode } from '../core/topic-mode.ts'
import { toNumber } from '../core/task-row.ts'

/** True for a ready row `t` in the ready list. The caller adds a condition on the topic; then an index has the rows in the topic's order. */
export function isInReadyList(dialect: Dialect, { order }: TopicMode): Statement {
  // mutants: equivalent condition:false, it only names the index, and ranked are all tasks of such a topic
  const ranked = order === 'priority' ? sql` and t.ranked = ${dialect.expr.true}` : raw('')
  return sql`t.listed = ${dialect.expr.true} and ${dialect.paths.ready}${ranked}`
}

/** The assignments that make a task active. */
export function taken(dialect: Dialect, { owner, now }: ClaimRequest): Statement {
  return sql`${dialect.claims.alsoSet}state = ${states.active}, reason = null, owner = ${owner}, attempt = t.attempt + 1, tries = t.tries + 1, started = ${dialect.expr.now(now)}`
}

/** Takes the first tasks of the ready list. Topics with an order other than `fifo` have all their ready tasks there. */
export function* claimOrdered(dialect: Dialect, request: ClaimRequest, mode: TopicMode): Verb<Claim> {
  const { topic, owner, size, columns } = request
  const rows = yield* dialect.writes.change({
    // mutants: equivalent property, `read` says the topic
    topic,
    // mutants: equivalent property, it only names the index, which has the same tasks
    read: { from: dialect.paths.inReadyList(mode.order), topic: dialect.paths.inTopic(topic) },
    which: sql`${isInReadyList(dialect, mode)} and ${mayClaim(dialect, topic, owner, mode)}`,
    first: { orderBy: dialect.paths.orderBy(mode.order), limit: size },
    locked: 'skip',
    set: taken(dialect, request),
    returning: columns,
  })
  yield* dialect.claims.record(
    topic,
    owner,
    rows.map(({ sequence }) => toNumber(sequence)),
  )
  if (rows.length > 0) return { rows, mode, ownerKnown: true }
  return { rows: [], ...(yield* claimStatus(dialect, topic, owner)) }
}

/**
 * For a limit of one row, PostgreSQL reads the index directly. It then marks the entries of rows that have left the ready list,
 * so that later polls skip them.
 */
export function* hasListed(dialect: Dialect, topic: string, mode: TopicMode): Verb<boolean> {
  // mutants: equivalent sql-logic `t.topic = ${topic} and ${isInReadyList(dialect, mode)}`, a poll that reads an empty list takes nothing
  // mutants: equivalent sql-number `limit(raw('1'))`, one row answers as much as several
  const some = yield sql`
    select 1 as found
      from ${dialect.paths.inReadyList(mode.order)}
     where t.topic = ${topic} and ${isInReadyList(dialect, mode)}
     order by ${dialect.paths.orderBy(mode.order)}
     ${dialect.expr.limit(raw('1'))}`
  // mutants: equivalent boundary, a poll that reads an empty list takes nothing
  return some.length > 0
}
