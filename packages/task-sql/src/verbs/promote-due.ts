import { checkInteger, checkNames, checkTopic, taskLimits, verbOptions } from '@taskstream/task-api'
import type { PromotedDue, PromoteDueOptions, Settlement } from '@taskstream/task-api'
import type { Dialect } from '../core/dialect.ts'
import { states } from '../core/states.ts'
import { raw, sql } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'
import { topicUnknown } from '../core/verb-context.ts'
import type { Context } from '../core/verb-context.ts'
import { setReadyClass } from './recheck.ts'
import { settle } from './settle.ts'
import { waitingColumns, waitingOf } from './waiting.ts'
import type { Waiting } from './waiting.ts'

/** How long nobody looks for blocked tasks after a look that found all there was to do, in milliseconds. */
const lookEveryMs = 1_000

export function* promoteDue(context: Context, topic: string, options: PromoteDueOptions = {}): Verb<PromotedDue> {
  checkNames(verbOptions.promoteDue, options)
  const { limit = 1000 } = options
  checkTopic(topic)
  checkInteger('limit', limit, 1, taskLimits.batchSize)
  const { dialect, now } = context
  const clock = now()
  const before = yield* whatWaits(dialect, topic, clock)
  const { started, unreachable, lookAgainMs } = before.blocked ? yield* look(context, topic, limit) : nothingBlocked
  const told = (promoted: number, nextDueMs: number): PromotedDue => ({
    promoted: started + promoted,
    ...(nextDueMs < Infinity && { nextDueMs }),
    ...(unreachable > 0 && { unreachable }),
    ...(lookAgainMs !== undefined && { lookAgainMs }),
  })
  // mutants: equivalent condition:false number `before.dueMs > 0`, what is not due yet is not promoted
  if (before.dueMs > 0) return told(0, before.dueMs)
  // The tasks that are longest overdue come first. Tasks that other calls are promoting are skipped.
  const due = yield* dialect.writes.change({
    topic,
    which: sql`t.due <= ${dialect.expr.now(clock)} and t.state = ${states.suspended}`,
    first: { orderBy: raw('t.due'), limit },
    locked: 'skip',
    set: sql`state = ${states.ready}, listed = ${dialect.expr.true}, due = null, completed = null, ${setReadyClass()}`,
  })
  return told(due.length, (yield* whatWaits(dialect, topic, clock)).dueMs)
}

// mutants: equivalent property `unreachable: 0`, nothing is told of none
// mutants: equivalent property `lookAgainMs: undefined`, it is undefined without it
const nothingBlocked = { started: 0, unreachable: 0, lookAgainMs: undefined }

/** Starts blocked tasks, unless a look was made just before. */
function* look(context: Context, topic: string, limit: number): Verb<Settlement & { readonly lookAgainMs: number }> {
  const { looks } = context
  const begin = performance.now()
  // mutants: equivalent number nullish:looks.get(topic), without a look before there is no pause
  const pause = (looks.get(topic) ?? 0) - begin
  // mutants: equivalent property `unreachable: 0`, nothing is told of none
  if (pause > 0) return { started: 0, unreachable: 0, lookAgainMs: pause }
  const { started, unreachable } = yield* settle(context, topic, { limit })
  const end = performance.now()
  looks.set(topic, end + pauseAfter(end - begin))
  return { started, unreachable, lookAgainMs: started + unreachable >= limit ? 0 : lookEveryMs }
}

/** Looks take a twentieth of the time, or a third if they are slow, however many tasks are blocked and however often a loop is woken. */
function pauseAfter(tookMs: number): number {
  return Math.max(Math.min(tookMs * 20, lookEveryMs), tookMs * 2)
}

/** Reads the next due time together with the topic's row, so that the same statement tells whether the topic exists. */
function* whatWaits(dialect: Dialect, topic: string, clock: number | null): Verb<Waiting> {
  const [next] = yield sql`
    select ${waitingColumns(dialect, sql`${topic}`, clock)}
      from ${dialect.tables.topic} p
     where p.topic = ${topic}`
  if (!next) throw yield* topicUnknown(dialect, topic)
  return waitingOf(next)
}
