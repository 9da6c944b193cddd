import { pollConditions, pollOrders, TaskError } from '@taskstream/task-api'
import type { PollCondition, PollOrder, TaskRecord } from '@taskstream/task-api'
import { sql } from './statement.ts'
import type { Statement } from './statement.ts'
import type { Row, Verb } from './verb.ts'
import type { Dialect } from './dialect.ts'
import { keepsOptions } from './verb-context.ts'
import { toNumber } from './task-row.ts'

/** How a topic is polled. A mode stays as long as its topic. A claim that expects another mode takes no tasks. */
export interface TopicMode {
  readonly order: PollOrder
  readonly condition: PollCondition
  readonly record: TaskRecord
}

export const plainMode: TopicMode = { order: 'fifo', condition: 'none', record: 'states' }

/** The order of a topic that keeps outcomes, as it is stored. Earlier releases do not know it: so they take nothing from such a topic. */
export const outcomesOrdering = 100

export const orderNumber = (order: PollOrder): number => pollOrders.indexOf(order)
/** The column `ordering` of a topic's row. */
export const orderingOf = ({ order, record }: Pick<TopicMode, 'order' | 'record'>): number =>
  record === 'outcomes' ? outcomesOrdering : orderNumber(order)
export const conditionNumber = (condition: PollCondition): number => pollConditions.indexOf(condition)

export function isSameMode(left: TopicMode, right: TopicMode): boolean {
  return left.order === right.order && left.condition === right.condition && left.record === right.record
}

/** The columns `ordering` and `condition` of a topic's row. */
export function toTopicMode(ordering: unknown, condition: unknown): TopicMode {
  const number = toNumber(ordering)
  return {
    order: pollOrders[number] ?? 'fifo',
    condition: pollConditions[toNumber(condition)] ?? 'none',
    record: number === outcomesOrdering ? 'outcomes' : 'states',
  }
}

/** True if the topic has this mode and the owner is registered. A claim takes tasks only then. */
export function mayClaim({ tables }: Pick<Dialect, 'tables'>, topic: string, owner: string, mode: TopicMode): Statement {
  return sql`exists (select 1
                       from ${tables.topic} p
                      where p.topic = ${topic}
                        and p.ordering = ${orderingOf(mode)}
                        and p.condition = ${conditionNumber(mode.condition)})
         and exists (select 1 from ${tables.owner} o where o.owner = ${owner})`
}

/** Why a claim took no tasks: the topic's mode, if the topic is known, and whether the owner is registered. */
export function* claimStatus(
  { tables, plans }: Pick<Dialect, 'tables' | 'plans'>,
  topic: string,
  owner: string,
): Verb<{ mode?: TopicMode; ownerKnown: boolean }> {
  const [row] = yield sql`
    select p.ordering, p.condition, (select 1 from ${tables.owner} o where o.owner = ${owner}) as registered, ${plans.tableBytes} as extent
      from ${tables.topic} p
     where p.topic = ${topic}`
  if (!row) return { ownerKnown: false }
  plans.learn(Number(row['extent']))
  return toStatus(row)
}

function toStatus(row: Row): { mode: TopicMode; ownerKnown: boolean } {
  return { mode: toTopicMode(row['ordering'], row['condition']), ownerKnown: row['registered'] !== null }
}

export function topicDifferent(topic: string, expected: Partial<TopicMode>, found: TopicMode): TaskError {
  const differs = expected.record !== undefined && expected.record !== found.record
  const say = ({ order, condition, record }: Partial<TopicMode>): string =>
    [order && `order ${order}`, condition && `condition ${condition}`, differs && record && `record ${record}`]
      .filter(Boolean)
      .join(' and ')
  return new TaskError(
    'TOPIC_DIFFERENT',
    `Topic "${topic}" has ${say(found)}, not ${say(expected)} as was asked for, and ${keepsOptions(topic, 'those')}`,
    { topic, expected, found },
  )
}
