import { checkInteger, checkNames, checkTopic, taskLimits, verbOptions } from '@taskstream/task-api'
import type { PromotedDue, PromoteDueOptions } from '@taskstream/task-api'
import type { Dialect } from '../core/dialect.ts'
import { states } from '../core/states.ts'
import { raw, sql } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'
import { topicUnknown } from '../core/verb-context.ts'
import type { Context } from '../core/verb-context.ts'
import { toNumber } from '../core/task-row.ts'

/** Reads the next due time together with the topic's row, so that the same statement tells whether the topic exists. */
export function* promoteDue({ dialect, now }: Context, topic: string, options: PromoteDueOptions = {}): Verb<PromotedDue> {
  checkNames(verbOptions.promoteDue, options)
  const { limit = 1000 } = options
  checkTopic(topic)
  checkInteger('limit', limit, 1, taskLimits.batchSize)
  const clock = now()
  const before = yield* nextDueMs(dialect, topic, clock)
  if (before === undefined) return { promoted: 0 }
  // mutants: equivalent condition:false number `before > 0`, what is not due yet is not promoted
  if (before > 0) return { promoted: 0, nextDueMs: before }
  // The tasks that are longest overdue come first. Tasks that other calls are promoting are skipped.
  const promoted = yield* dialect.writes.change({
    topic,
    which: sql`t.due <= ${dialect.expr.now(clock)} and t.state = ${states.suspended}`,
    first: { orderBy: raw('t.due'), limit },
    locked: 'skip',
    set: sql`state = ${states.ready}, listed = ${dialect.expr.true}, due = null, completed = null`,
  })
  const after = yield* nextDueMs(dialect, topic, clock)
  return after === undefined ? { promoted: promoted.length } : { promoted: promoted.length, nextDueMs: after }
}

function* nextDueMs(dialect: Dialect, topic: string, clock: number | null): Verb<number | undefined> {
  const [next] = yield sql`
    select (select ${dialect.expr.epochMs(raw('t.due'))}
              from ${dialect.tables.task} t
             where t.topic = ${topic} and t.due is not null
             order by t.due
             ${dialect.expr.limit(raw('1'))}) as due,
           ${dialect.expr.epochMs(dialect.expr.now(clock))} as now
      from ${dialect.tables.topic} p
     where p.topic = ${topic}`
  if (!next) throw yield* topicUnknown(dialect, topic)
  return next['due'] === null ? undefined : Math.max(0, toNumber(next['due']) - toNumber(next['now']))
}
