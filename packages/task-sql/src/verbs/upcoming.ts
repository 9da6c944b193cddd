/** What a topic does next. */
import { checkInteger, checkNames, verbOptions } from '@taskstream/task-api'
import type { Upcoming, UpcomingOptions } from '@taskstream/task-api'
import { blockedUntil } from '../core/blocked.ts'
import { states } from '../core/states.ts'
import { raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { toNumber, toTask } from '../core/task-row.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { isInReadyList } from './claim-ordered.ts'
import { lookAt } from './why-found.ts'
import type { Place } from './why-found.ts'

export function* upcoming(context: Context, topic: string, options: UpcomingOptions = {}): Verb<Upcoming> {
  checkNames(verbOptions.upcoming, options)
  const { limit = 20 } = options
  checkInteger('limit', limit, 1, 1_000)
  const place = yield* lookAt(context, topic)
  const { dialect } = context
  const { expr, paths } = dialect
  const first = yield firstReady(context, place, limit)
  const order = new Map(first.map(({ sequence }, index) => [toNumber(sequence), index]))
  const rows =
    first.length === 0
      ? []
      : yield sql`
        select t.sequence, t.identifier, t.priority, ${expr.epochMs(raw('t.created'))} as created
          from ${paths.byKeys(topic, [...order.keys()])} and t.state = ${states.ready}`
  const due = yield sql`
    select t.sequence, t.identifier, t.tries, ${expr.epochMs(raw('t.due'))} as due
      from ${paths.byDue(topic, sql`t.due < ${blockedUntil(expr)} and t.state = ${states.suspended}`)}
     ${expr.limit(sql`${limit}`)}`
  return {
    topic,
    ready: rows
      .map((row) => ({
        ...toTask(topic, row),
        priority: toNumber(row['priority']),
        created: new Date(toNumber(row['created'])),
      }))
      .toSorted((left, right) => order.get(left.sequence)! - order.get(right.sequence)!),
    due: due.map((row) => ({ ...toTask(topic, row), tries: toNumber(row['tries']), due: new Date(toNumber(row['due'])) })),
  }
}

/** Selects `sequence` of the first ready tasks, as polls take them. */
function firstReady({ dialect }: Context, { topic, mode }: Place, limit: number): Statement {
  const isInSequence = mode.order === 'shared' || (mode.order === 'fifo' && mode.condition === 'none')
  if (isInSequence) return dialect.claims.firstReady(topic, limit)
  return sql`
    select t.sequence
      from ${dialect.paths.inReadyList(mode.order)}
     where ${dialect.paths.inTopic(topic)} and ${isInReadyList(dialect, mode)}
     order by ${dialect.paths.orderBy(mode.order)}
     ${dialect.expr.limit(sql`${limit}`)}`
}
