/** What has to be so before tasks leave one of our databases for another: nobody works on them there, and none is passed by one that comes later. */
import { isTaskError } from '@taskstream/task-api'
import type { CountOptions, FilterState, NodeInfo, PollCondition, TaskCount, TaskInfo, TopicOptions } from '@taskstream/task-api'
import type { NamedDatabase } from '../core/database.ts'
import { CommandError } from '../core/exit-codes.ts'
import { quoted } from '../core/explain.ts'
import { readTopics } from '../core/topics.ts'

const dayMs = 86_400_000
/** Nobody gives a node a longer lease without a reason: that of a node which tells of itself is known. */
const longLeaseMs = 60_000

/** Where the tasks go. */
export interface Goal {
  readonly database: NamedDatabase
  readonly topic: string
}

/** No node there would take the tasks of a dead one from it. */
export async function takeFromDead(transaction: unknown, topic: string, { tasks }: NamedDatabase): Promise<void> {
  const nodes: readonly NodeInfo[] = await tasks.nodes(transaction, { withinMs: dayMs })
  if (nodes.some((node) => isAt(node, topic))) return
  const leases = nodes.map(({ report }) => report?.leaseMs ?? 0)
  await tasks.expire(transaction, { olderThanMs: Math.max(longLeaseMs, ...leases), then: 'ready' })
}

/** Whether a process may be at work on the topic: one that has just begun has told nothing yet. */
const isAt = ({ life, report }: NodeInfo, topic: string): boolean =>
  (life === 'living' || life === 'silent') &&
  (report === undefined || (report.omitted ?? 0) > 0 || report.topics.some((each) => each.topic === topic))

/**
 * If this process dies between its two commits, a task is on both sides until the next run. A worker there would do it too, and in a topic with a
 * condition it may have the task before it.
 *
 * @throws CommandError refused
 */
export async function checkNobody(transaction: unknown, topic: string, { tasks, place }: NamedDatabase): Promise<void> {
  const nodes: readonly NodeInfo[] = await tasks.nodes(transaction)
  const alive = nodes.filter((node) => isAt(node, topic)).map(({ owner }) => owner)
  if (alive.length === 0) return
  throw new CommandError(
    'refused',
    `${alive.slice(0, 3).join(', ')} may still be at work on "${topic}" in ${place}: stop what works there first. A process that was killed counts as dead once its lease has run out`,
  )
}

/**
 * What stays there would keep later tasks of its identifier waiting there, and does not keep them waiting here.
 *
 * @throws CommandError refused
 */
export async function checkAllMove(topic: string, condition: PollCondition, source: NamedDatabase): Promise<void> {
  const states = ['active', 'blocked', 'expired', 'failed', 'suspended'] as const
  const counts = await countsOf(source, topic, { states })
  const isObstacle = (state: FilterState): boolean =>
    ((state !== 'failed' && state !== 'expired') || condition !== 'singular-by-identifier') &&
    (state !== 'suspended' || condition === 'singular-by-identifier-suspend-until-success')
  const countOf = (state: FilterState): number => counts.get(state)?.count ?? 0
  const state = states.find((each) => isObstacle(each) && countOf(each) > 0)
  if (state === undefined) return
  throw new CommandError(
    'refused',
    `in "${topic}" of ${source.place}, ${countOf(state)} ${state} ${countOf(state) === 1 ? 'task keeps' : 'tasks keep'} others of the same identifier waiting: let workers there do what can be done, or redrive, cancel or purge what is ${state}`,
  )
}

export async function optionsOf(database: NamedDatabase, topic: string): Promise<Required<TopicOptions>> {
  return (await readTopics(database, 1)).find((each) => each.topic === topic)!
}

export async function countsOf(
  { tasks, reading }: NamedDatabase,
  topic: string,
  options: CountOptions = {},
): Promise<ReadonlyMap<FilterState, TaskCount>> {
  const counts = await reading<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>((transaction) =>
    tasks.count(transaction, { topic, ...options }),
  )
  return counts.get(topic) ?? new Map()
}

/** @throws CommandError refused */
export async function checkAlike(there: Required<TopicOptions>, queue: string, source: NamedDatabase, goal: Goal): Promise<void> {
  const here = (await readTopics(goal.database, 1)).find(({ topic }) => topic === goal.topic)
  if (!here || (here.order === there.order && here.condition === there.condition)) return
  const said = ({ order, condition }: Required<TopicOptions>): string => `order ${order} and condition ${condition}`
  throw new CommandError(
    'refused',
    `topic "${queue}" in ${source.place} has ${said(there)}, and "${goal.topic}" in ${goal.database.place} has ${said(here)}: they would come in another order. If that has no tasks, destroy it, and give --initialize: taskstream topic destroy ${quoted(goal.topic)}`,
  )
}

/**
 * Within one database a task would find itself by its external id, and be taken away.
 *
 * @throws CommandError refused
 */
export async function checkApart(
  { topic, sequence, identifier, created }: TaskInfo,
  source: NamedDatabase,
  { database }: Goal,
): Promise<void> {
  const same = await database
    .reading<TaskInfo | undefined>((transaction) => database.tasks.task(transaction, topic, sequence))
    .catch((error: unknown) => {
      if (isTaskError(error, 'TOPIC_UNKNOWN')) return undefined
      throw error
    })
  if (!same || same.identifier !== identifier || same.created.getTime() !== created.getTime()) return
  throw new CommandError(
    'refused',
    `${source.place} is the database of the tasks itself, or a copy of it: both have ${topic} @${sequence}`,
  )
}
