/**
 * How many tasks of a topic are to be done. Pushes add to a number in the limit's row, and tasks are counted when it reaches the limit, or when the last count
 * is a second old: others end meanwhile, or are pushed or made ready in other ways. So most pushes count nothing, and no other verb pays for it.
 */
import { checkInteger, checkText, checkTopic, invalid, TaskError, taskLimits } from '@taskstream/task-api'
import { reasons, states } from '../core/states.ts'
import { raw, sql } from '../core/statement.ts'
import { sequencesOf } from '../core/task-row.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { lockLimit, readLocked } from './lock-limit.ts'
import { isIn } from './filter-state.ts'
import { enqueueRechecks, setBlockingClass } from './recheck.ts'

const isEntries = raw("kind in ('entries', 'entries-dropping')")

/** How long a count is believed, in milliseconds. */
const believedMs = 1_000

/** Extra rows that are read when others have locked the oldest. */
const spareRows = 100

export function* admit(context: Context, topic: string, asked: number, externalIds: readonly string[] = []): Verb<void> {
  checkTopic(topic)
  checkInteger('count', asked, 0, taskLimits.batchSize)
  if (!Array.isArray(externalIds)) throw invalid('externalIds', externalIds, 'must be a list of texts')
  checkInteger('the number of externalIds', externalIds.length, 0, taskLimits.batchSize)
  for (const [index, id] of externalIds.entries()) checkText(`externalIds[${index}]`, id, taskLimits.externalIdLength)
  const { dialect, now } = context
  if (asked === 0) return
  const { limit } = dialect.tables
  const nowMs = dialect.expr.epochMs(dialect.expr.now(now()))
  const room = sql`
    update ${limit}
       set used = used + ${asked}
     where topic = ${topic} and ${isEntries} and used + ${asked} <= amount and counted_at between ${nowMs} - ${believedMs} and ${nowMs}`
  if ((yield* dialect.writes.touched(room)) > 0) return
  const locked = yield* lockLimit(context, topic, isEntries)
  if (!locked) return
  const count = asked - (yield* countKnown(context, topic, externalIds))
  if (count === 0) return
  const { amount, kind } = locked
  const entries = yield* countEntries(context, topic, amount)
  const over = entries + count - amount
  // mutants: equivalent boundary `over > 0`, to drop none changes nothing
  const dropped = over > 0 && kind === 'entries-dropping' && count <= amount ? yield* dropOldest(context, topic, over) : 0
  if (over > dropped) throw full(topic, entries, amount, count)
  // mutants: equivalent arithmetic `entries - dropped`, after too high a number the next push counts
  yield sql`update ${limit} set used = ${entries - dropped + count} where topic = ${topic} and ${isEntries}`
}

/** For how many of these external ids a push creates no task: those that have tasks already, and those that stand here twice. */
function* countKnown({ dialect }: Context, topic: string, externalIds: readonly string[]): Verb<number> {
  // mutants: equivalent condition:false, of no external ids none is known
  if (externalIds.length === 0) return 0
  const values = [...new Set(externalIds)]
  const known = yield sql`
    select t.sequence
      from ${dialect.paths.byExternalIds(topic, values)}
     ${dialect.expr.latest}`
  return known.length + externalIds.length - values.length
}

/**
 * Writes into the limit's row how many tasks are ready, delayed, blocked or active; one more than the limit at most of each. Where a transaction reads from a
 * snapshot, what an update reads is as last committed.
 */
function* countEntries(context: Context, topic: string, amount: number): Verb<number> {
  const { dialect } = context
  const { limit, task, topic: topics } = dialect.tables
  const { countOpen } = dialect.claims
  const most = amount + 1
  const waiting = sql`
    select 1 as one
      from ${task} t
     where t.topic = ${topic} and t.due is not null and t.state = ${states.suspended}
     ${dialect.expr.limit(sql`${most}`)}`
  yield sql`
    update ${limit}
       set counted_at = ${dialect.expr.epochMs(dialect.expr.now(context.now()))},
           used = coalesce((select ${countOpen('ready', most)} + ${countOpen('active', most)} + (select count(*) from (${waiting}) w)
                              from ${topics} p
                             where p.topic = ${topic}), 0)
     where topic = ${topic} and ${isEntries}`
  return (yield* readLocked(context, topic, isEntries)).used
}

/**
 * Filters the oldest tasks that are ready, or none if there are fewer. Those that others have locked just now are as good as active, and younger ones go in
 * their place.
 */
function* dropOldest(context: Context, topic: string, count: number): Verb<number> {
  const { dialect, now } = context
  const isReady = isIn(dialect, 'ready')
  if (dialect.ranges) yield* dialect.ranges.lockFresh(topic)
  // All are locked before any is changed: whoever is refused may commit what else he has written.
  let locked: readonly number[] = []
  for (let most = count; ; most = 2 * most + spareRows) {
    const oldest = sequencesOf(yield dialect.claims.firstReady(topic, most))
    if (oldest.length < count) return 0
    const first = { orderBy: dialect.paths.orderBy('fifo'), limit: count }
    locked = sequencesOf(
      yield* dialect.locks.tasks({ topic, sequences: oldest, which: isReady, first, locked: 'skip' }, raw('t.sequence')),
    )
    if (locked.length === count) break
    if (oldest.length < most) return 0
  }
  const dropped = yield* dialect.writes.change({
    topic,
    sequences: locked,
    which: isReady,
    locked: 'wait',
    set: sql`
      state = ${states.filtered},
      listed = ${dialect.expr.false},
      reason = ${reasons.dropped},
      completed = ${dialect.expr.now(now())},
      ${setBlockingClass('ended')}`,
    returning: sql`sequence, identifier, stage`,
  })
  yield* enqueueRechecks(context, topic, dropped)
  return dropped.length
}

function full(topic: string, entries: number, count: number, asked: number): TaskError {
  const message =
    asked > count
      ? `${asked} tasks are more than the topic "${topic}" may ever have, which is ${count}: push fewer at a time`
      : `The topic "${topic}" has ${entries} of the ${count} tasks that it may have: push again when some of them have ended`
  return new TaskError('TOPIC_FULL', message, { topic, entries, count })
}
