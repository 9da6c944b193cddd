import {
  checkInteger,
  checkNames,
  checkTopic,
  invalid,
  pollConditions,
  pollOrders,
  taskRecords,
  verbOptions,
} from '@taskstream/task-api'
import type { TaskError, TopicOptions } from '@taskstream/task-api'
import { checkSchema } from './migrate.ts'
import { blockingClasses } from '../core/states.ts'
import type { Dialect } from '../core/dialect.ts'
import { sql } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'
import { topicNotKeyed, topicUnknown } from '../core/verb-context.ts'
import type { Context } from '../core/verb-context.ts'
import { conditionNumber, isSameMode, orderingOf, topicDifferent, toTopicMode } from '../core/topic-mode.ts'

export function* initialize({ dialect }: Context, topic: string, options?: TopicOptions): Verb<boolean> {
  checkNames(verbOptions.initialize, options)
  const {
    order = 'fifo',
    condition = 'none',
    keyed = condition !== 'none' || order === 'shared',
    record = 'states',
  } = options ?? {}
  const { topic: topics, task } = dialect.tables
  checkTopic(topic)
  if (!pollOrders.includes(order)) throw invalid('order', order, `must be one of ${pollOrders.join(', ')}`)
  if (!pollConditions.includes(condition)) throw invalid('condition', condition, `must be one of ${pollConditions.join(', ')}`)
  if (condition !== 'none' && !keyed) throw invalid('keyed', keyed, 'must not be false under a condition')
  if (order === 'shared' && !keyed) throw invalid('keyed', keyed, 'must not be false in the order shared')
  if (order === 'shared' && condition !== 'none')
    throw invalid('condition', condition, 'must be none in the order shared: under a condition, identifiers share anyway')
  if (!taskRecords.includes(record)) throw invalid('record', record, `must be one of ${taskRecords.join(', ')}`)
  if (record !== 'states') checkRecord(dialect, { record, order, condition, keyed })
  yield* checkSchema(dialect)
  const boolean = (value: boolean): typeof dialect.expr.true => (value ? dialect.expr.true : dialect.expr.false)
  const stage = blockingClasses[condition !== 'none' ? 'open' : order === 'shared' ? 'high' : 'unstaged']
  const inserted = dialect.writes.insertIfAbsent(
    topics,
    {
      topic,
      ordering: orderingOf({ order, record }),
      [dialect.expr.conditionColumn]: conditionNumber(condition),
      // What an earlier release pushes to a topic that keeps outcomes is found because it is listed.
      listing: boolean(order !== 'fifo' || condition !== 'none' || record !== 'states'),
      ranking: boolean(order === 'priority'),
      stage: keyed ? stage : null,
    },
    'topic',
  )
  if ((yield* dialect.writes.touched(inserted)) > 0) {
    for (const statement of dialect.topics.open(topic, { keyed, record })) yield statement
    // A push that ran while a former topic of this name was destroyed may have left tasks behind.
    yield dialect.writes.removeOf(task, topic)
    return true
  }
  if (!options) return false
  const [row] = yield sql`select p.ordering, p.condition, p.stage from ${topics} p where p.topic = ${topic}`
  if (!row) return false
  const found = toTopicMode(row['ordering'], row['condition'])
  if (!isSameMode(found, { order, condition, record })) throw topicDifferent(topic, { order, condition, record }, found)
  if (keyed && row['stage'] === null) throw topicNotKeyed(topic, 'what was asked for')
  return false
}

function checkRecord(dialect: Dialect, { record, order, condition, keyed }: Required<TopicOptions>): void {
  const refuse = (argument: string, value: unknown): TaskError =>
    invalid('record', record, `needs a topic without ${argument} ${String(value)}: states are kept of it`)
  if (!dialect.ranges) throw invalid('record', record, 'must be states on this database: only PostgreSQL keeps outcomes')
  if (order !== 'fifo') throw refuse('order', order)
  if (condition !== 'none') throw refuse('condition', condition)
  if (keyed) throw refuse('keyed', keyed)
}

export function* topics({ dialect }: Context): Verb<string[]> {
  const rows = yield sql`select topic from ${dialect.tables.topic} order by topic`
  return rows.map((row) => String(row['topic']))
}

export function* destroy({ dialect }: Context, topic: string): Verb<boolean> {
  const { task, topic: topics, turn, activation, result, attempt, dependency, limit, slot } = dialect.tables
  checkTopic(topic)
  const removed = yield* dialect.writes.touched(sql`delete from ${topics} where topic = ${topic}`)
  yield dialect.writes.removeOf(task, topic)
  for (const table of [turn, activation, result, attempt, dependency, limit, slot]) yield dialect.writes.removeOf(table, topic)
  for (const statement of dialect.topics.close(topic)) yield statement
  return removed > 0
}

export function* refresh({ dialect }: Context): Verb<void> {
  for (const statement of dialect.session.analyze) yield statement
}

export function* limitStatements({ dialect }: Context, timeoutMs: number): Verb<void> {
  checkInteger('timeoutMs', timeoutMs, 1, 86_400_000)
  for (const statement of dialect.session.limitStatements(timeoutMs)) yield statement
}

/** Limits the time of each further statement of the session, where the server cannot limit those of a transaction. `endLimit` has to follow, whatever happens. */
export function* beginLimit({ session }: Dialect, timeoutMs: number): Verb<void> {
  checkInteger('timeoutMs', timeoutMs, 1, 86_400_000)
  for (const statement of session.limitSession?.(timeoutMs).begin ?? []) yield statement
}

export function* endLimit({ session }: Dialect): Verb<void> {
  for (const statement of session.limitSession?.(1).end ?? []) yield statement
}

/** For a verb that has found no tasks: an empty topic is no error, but an unknown one is. @throws TaskError TOPIC_UNKNOWN */
export function* checkKnown({ dialect }: Context, topic: string): Verb<void> {
  const known = yield sql`select 1 as known from ${dialect.tables.topic} where topic = ${topic}`
  if (known.length === 0) throw yield* topicUnknown(dialect, topic)
}

/** @throws TaskError TOPIC_UNKNOWN, TOPIC_NOT_KEYED */
export function* checkKeyed({ dialect }: Context, topic: string, verb: string): Verb<void> {
  const [row] = yield sql`select stage from ${dialect.tables.topic} where topic = ${topic}`
  if (!row) throw yield* topicUnknown(dialect, topic)
  if (row['stage'] === null) throw topicNotKeyed(topic, verb)
}
