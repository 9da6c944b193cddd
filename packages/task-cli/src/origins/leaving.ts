/** What has to be so before tasks leave one of our databases for another: nobody works on them there, and none is passed by one that comes later. */
import { isTaskError } from '@taskstream/task-api'
import type { CountOptions, FilterState, NodeInfo, PollCondition, TaskCount, TaskInfo, TopicOptions } from '@taskstream/task-api'
import type { NamedDatabase } from '../core/database.ts'
import { CommandError } from '../core/exit-codes.ts'
import { quoted } from '../core/explain.ts'
import { readTopics } from '../core/topics.ts'

/** What moves: it is at nobody's hands, and has not ended. */
export const waiting: readonly FilterState[] = ['ready', 'delayed']

/** Where the tasks go. */
export interface Goal {
  readonly database: NamedDatabase
  readonly topic: string
}

/**
 * If this process dies between its two commits, a task is on both sides until the next run. A worker there would do it too, and in a topic with a
 * condition it may have the task before it.
 *
 * @throws CommandError refused
 */
export async function checkNobody(transaction: unknown, { tasks, place }: NamedDatabase): Promise<void> {
  const nodes: readonly NodeInfo[] = await tasks.nodes(transaction)
  // What a node tells of its topics may be half a minute old, and leaves out those that are paused.
  const alive = nodes.filter(({ life, report }) => (life === 'living' || life === 'silent') && report?.kind !== 'scheduler')
  if (alive.length === 0) return
  const names = alive.slice(0, 3).map(({ owner }) => owner)
  throw new CommandError(
    'refused',
    `${names.join(', ')}${alive.length > 3 ? ` and ${alive.length - 3} more` : ''} may be at work in ${place}: stop them first. A process that was killed counts as dead once its lease has run out`,
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
  if (state === undefined) return await checkNoneNeeded(topic, source)
  throw new CommandError(
    'refused',
    `in "${topic}" of ${source.place}, ${countOf(state)} ${state} ${countOf(state) === 1 ? 'task keeps' : 'tasks keep'} others of the same identifier waiting: let workers there do what can be done, or redrive, cancel or purge what is ${state}`,
  )
}

async function checkNoneNeeded(topic: string, source: NamedDatabase): Promise<void> {
  const needed =
    sumOf(await countsOf(source, topic, { states: waiting })) -
    sumOf(await countsOf(source, topic, { states: waiting, unneeded: true }))
  if (needed === 0) return
  throw new CommandError(
    'refused',
    `in "${topic}" of ${source.place}, ${needed} waiting ${needed === 1 ? 'task is' : 'tasks are'} needed by others, and would stay: let workers there do what can be done`,
  )
}

const sumOf = (counts: ReadonlyMap<FilterState, TaskCount>): number =>
  [...counts.values()].reduce((sum, { count }) => sum + count, 0)

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
 * Within one database a task would find itself by its external id, and be taken away. In a copy it would be there twice.
 *
 * @throws CommandError refused
 */
export async function checkApart(portion: readonly TaskInfo[], source: NamedDatabase, { database }: Goal): Promise<void> {
  const [first] = portion
  if (!first) return
  const { topic } = first
  const times = portion.map(({ created }) => created.getTime())
  const [earliest, latest] = [Math.min(...times), Math.max(...times)]
  const there: readonly TaskInfo[] = await database
    .reading<readonly TaskInfo[]>((transaction) =>
      database.tasks.page(transaction, topic, {
        from: first.sequence,
        to: portion.at(-1)!.sequence,
        createdFrom: new Date(earliest),
        createdBefore: new Date(latest + 1),
        size: 1_000,
      }),
    )
    .catch((error: unknown) => {
      if (isTaskError(error, 'TOPIC_UNKNOWN')) return []
      throw error
    })
  const known = new Map(there.map((task) => [task.sequence, task]))
  const twin = portion.find((task) => {
    const other = known.get(task.sequence)
    return other && isSameWork(task, other) && task.created.getTime() === other.created.getTime()
  })
  if (!twin) return
  throw new CommandError(
    'refused',
    `${source.place} is the database of the tasks itself, or a copy of it: both have ${topic} @${twin.sequence}`,
  )
}

/** Whether two tasks are about the same, as far as their pushes say. */
export function isSameWork(left: TaskInfo, right: TaskInfo): boolean {
  return left.identifier === right.identifier && left.input === right.input
}
