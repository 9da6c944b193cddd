import { checkDuration, checkGiven, checkInteger, invalid, taskLimits, verbOptions } from '@taskstream/task-api'
import type { ExpireOptions, Expiry } from '@taskstream/task-api'
import { reasons, stages, states } from '../core/states.ts'
import { nothing, raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { toNumber, toState } from '../core/task-row.ts'
import { recordLost } from './attempts.ts'
import { buryExhausted } from './dead-letter.ts'
import { deadOwner } from './owners.ts'
import { enqueueRechecks, setBlockingClass, setStage, shareOf } from './recheck.ts'

export function* expire(context: Context, options: ExpireOptions): Verb<Expiry> {
  checkGiven(verbOptions.expire, options)
  const { olderThanMs, then = 'expired', limit = 10_000 } = options
  const { dialect } = context
  checkDuration('olderThanMs', olderThanMs)
  checkInteger('limit', limit, 1, taskLimits.batchSize)
  if (then !== 'expired' && then !== 'ready') throw invalid('then', then, "must be 'expired' or 'ready'")
  const dead = deadOwner(context, olderThanMs)
  if (dialect.session.checkSeen) yield* dialect.session.checkSeen()
  const { isAhead, hasRanges } = yield* lookAtOwners(context, olderThanMs)
  const ranges = hasRanges ? dialect.ranges : undefined
  if (ranges) yield ranges.note()
  if (isAhead) yield* takeBackHeartbeats(context, olderThanMs)
  if (ranges) yield* ranges.spill(dead, limit)
  const found = Map.groupBy(yield dialect.claims.claimedBy(dead, limit), ({ topic }) => String(topic))
  // Topics are told in the order of their names.
  // mutants: equivalent boundary, no two topics have the same name
  const inOrder = [...found].toSorted(([left], [right]) => (left < right ? -1 : 1))
  const rows: Row[] = []
  for (const [topic, claimed] of inOrder) {
    const expired = yield* dialect.writes.change({
      topic,
      sequences: claimed.map(({ sequence }) => toNumber(sequence)),
      which: sql`t.state = ${states.active} and ${dead(raw('t.owner'))}`,
      locked: 'skip',
      set: then === 'expired' ? markExpired(context) : makeReady(context),
      returning: raw('topic, sequence, attempt, state, identifier, stage'),
    })
    yield* recordLost(context, topic, expired, claimed)
    yield* buryExhausted(context, topic, expired)
    yield* enqueueRechecks(context, topic, expired)
    rows.push(...expired)
  }
  yield* dialect.claims.tidy()
  if (ranges) yield* ranges.merge()
  const became = rows.map((row) => toState(row['state']))
  return {
    expired: became.filter((state) => state === 'expired').length,
    ready: became.filter((state) => state === 'ready').length,
    failed: became.filter((state) => state === 'failed').length,
    topics: [...new Set(rows.flatMap((row, index) => (became[index] === 'ready' ? String(row['topic']) : [])))],
  }
}

/** What expiry has to know before it writes: a node at rest asks this again and again, so it is one statement. */
function* lookAtOwners(
  { dialect, owner, now, beat }: Context,
  olderThanMs: number,
): Verb<{ readonly isAhead: boolean; readonly hasRanges: boolean }> {
  const { tables, expr, ranges } = dialect
  const [row] = yield sql`
    select ${expr.epochMs(raw('max(o.own)'))} as heartbeat, max(o.ahead) as ahead${
      ranges ? sql`, (select count(*) from ${tables.topic} p where ${ranges.keepsOutcomes}) as outcomes` : nothing
    }
      from (select case when o.owner = ${owner} then o.heartbeat end as own,
                   case when o.heartbeat > ${farAhead({ dialect, now }, olderThanMs)} then 1 else 0 end as ahead
              from ${tables.owner} o) o`
  const seen = row!['heartbeat']
  // An earlier one is left to the next heartbeat, which tells that the database was put back.
  if (seen !== null) beat.seenMs = Math.max(beat.seenMs ?? 0, toNumber(seen))
  return {
    isAhead: Number(row!['ahead']) > 0,
    hasRanges: Number(row!['outcomes'] ?? 0) > 0,
  }
}

function farAhead({ dialect, now }: Pick<Context, 'dialect' | 'now'>, olderThanMs: number): Statement {
  return dialect.expr.plusMs(dialect.expr.now(now()), sql`${olderThanMs}`)
}

/**
 * Sets heartbeats to now that lie farther in the future than `olderThanMs`. After the clock was set back, an owner that had died
 * before would otherwise count as living until its last heartbeat is past. Living owners correct theirs when they beat next.
 */
function* takeBackHeartbeats(context: Context, olderThanMs: number): Verb<void> {
  const { dialect, now } = context
  yield sql`
    update ${dialect.tables.owner} set heartbeat = ${dialect.expr.now(now())} where heartbeat > ${farAhead(context, olderThanMs)}`
}

/** An expired task keeps its owner (suite/owner.ts, 'which are expired and keep their owner'). */
function markExpired({ dialect }: Context): Statement {
  return sql`state = ${states.expired}, listed = ${dialect.expr.false}, reason = ${reasons.lease}, ${setBlockingClass('failed')}`
}

function makeReady({ dialect, now }: Context): Statement {
  const exhausted = raw('(t.max_tries is not null and t.tries >= t.max_tries)')
  return sql`
           state = case when ${exhausted} then ${states.failed} else ${states.ready} end,
           listed = case when ${exhausted} then ${dialect.expr.false} else ${dialect.expr.true} end,
           reason = case when ${exhausted} then ${reasons.tries} else ${reasons.lease} end,
           completed = case when ${exhausted} then ${dialect.expr.now(now())} end,
           owner = case when ${exhausted} then t.owner end,
           ${setStage(
             sql`case when ${exhausted} then ${stages.failed} else ${stages.open} end`,
             sql`case when ${exhausted} then ${stages.aside} else ${shareOf(raw('t.priority'))} end`,
           )}`
}
