/** Topics of another database of ours, such as the file of SQLite that has become too small: what waits there waits here, in the same order. */
import { isTaskError } from '@taskstream/task-api'
import type {
  CountOptions,
  FilterState,
  LockedTasks,
  NodeInfo,
  PollCondition,
  PushedTask,
  TaskCount,
  TaskCreation,
  TaskInfo,
  TopicOptions,
} from '@taskstream/task-api'
import type { NamedDatabase } from '../core/database.ts'
import { CommandError } from '../core/exit-codes.ts'
import { checkTopicKnown } from '../core/known.ts'
import { readTopics } from '../core/topics.ts'
import { remarks } from './origin.ts'
import type { Origin, Push, Survey } from './origin.ts'

const waiting: readonly FilterState[] = ['ready', 'delayed']
/** Payloads may be large, so fewer are read at a time than are moved. */
const pageSize = 100

/** Where the tasks go. */
export interface Goal {
  readonly database: NamedDatabase
  readonly topic: string
}

/**
 * Opens a topic of the source.
 *
 * @throws TaskError TOPIC_UNKNOWN; CommandError refused, if the topic here is polled in another way
 */
export async function openTopic(
  queue: string,
  source: NamedDatabase,
  goal: Goal,
  push: Push,
): Promise<Omit<Origin, keyof AsyncDisposable>> {
  await checkTopicKnown(source, queue)
  const { order, condition, keyed } = await optionsOf(source, queue)
  await checkAlike({ order, condition, keyed }, queue, source, goal)
  const { tasks } = source
  const isOrdered = condition !== 'none'
  // What was moved is not looked for again. What others had locked is looked for in the end.
  let from = 0

  const lock = async (transaction: unknown, limit: number): Promise<LockedTasks['tasks']> => {
    for (let isAgain = false; ;) {
      const { tasks: locked, last }: LockedTasks = await tasks.lock(transaction, queue, {
        states: waiting,
        from,
        limit,
        unneeded: true,
        skipLocked: !isOrdered,
      })
      if (last === undefined && (isAgain || from === 0)) return []
      isAgain ||= last === undefined
      from = last === undefined ? 0 : last + 1
      if (locked.length > 0) return locked
    }
  }
  const moved = async (transaction: unknown, size: number): Promise<readonly PushedTask[]> => {
    await checkNobody(transaction, queue, source)
    const locked = (await lock(transaction, size)).map(({ sequence }) => sequence)
    if (locked.length === 0) return []
    const infos = await read(transaction, locked)
    await checkApart(infos[0]!, source, goal)
    const pushed = await push(infos.map(toCreation))
    // They are gone: one that was only cancelled could be revived, or keep its external id from being pushed there again.
    const gone = (await tasks.purge(transaction, queue, { sequences: locked, states: waiting, limit: locked.length })) as number
    if (gone < locked.length)
      throw new Error(`${locked.length - gone} tasks of "${queue}" could not be taken away in ${source.place}`)
    return pushed
  }
  const read = async (transaction: unknown, locked: readonly number[]): Promise<readonly TaskInfo[]> => {
    const wanted = new Set(locked)
    const found: TaskInfo[] = []
    let after = locked[0]! - 1
    while (found.length < wanted.size) {
      const page: readonly TaskInfo[] = await tasks.page(transaction, queue, { states: waiting, after, size: pageSize })
      found.push(...page.filter(({ sequence }) => wanted.has(sequence)))
      after = page.at(-1)!.sequence
    }
    return found
  }
  return {
    place: source.place,
    options: { order, condition, keyed },
    check: async () => {
      await source.reading((transaction) => checkNobody(transaction, queue, source))
      if (isOrdered) await checkAllMove(queue, condition, source)
    },
    survey: () => surveyOf(source, queue, order === 'priority' || order === 'shared', keyed),
    move: (size) => {
      const before = from
      return source.transactions((transaction) => {
        // A transaction that is repeated begins anew.
        from = before
        return moved(transaction, size)
      })
    },
  }
}

/**
 * A task as it is pushed here. One without an external id gets one by which a second push knows it. It begins with `@`, so that a job without an id is
 * still one without.
 */
function toCreation(task: TaskInfo): TaskCreation {
  const { identifier, input, reference, priority, headers, due, deadline, sequence, created } = task
  const { externalId = `@moved:${sequence}:${created.getTime()}` } = task
  const maxTries = triesOf(task)
  return {
    identifier,
    externalId,
    priority,
    ...(input !== undefined && { input }),
    ...(reference !== undefined && { reference }),
    ...(headers !== undefined && { headers }),
    ...(due !== undefined && { due }),
    ...(deadline !== undefined && { deadline }),
    ...(maxTries !== undefined && { maxTries }),
  }
}

/** The tries that are left. A signature covers the number with which a job was pushed. */
function triesOf({ maxTries, tries, headers }: TaskInfo): number | undefined {
  return maxTries === undefined || headers?.['sig'] !== undefined ? maxTries : Math.max(1, maxTries - tries)
}

async function surveyOf(source: NamedDatabase, topic: string, isPrioritized: boolean, isKeyed: boolean): Promise<Survey> {
  const all = await countsOf(source, topic)
  const unneeded = await countsOf(source, topic, { states: waiting, unneeded: true })
  const sum = (counts: ReadonlyMap<FilterState, TaskCount>, ...states: readonly FilterState[]): number =>
    states.reduce((total, state) => total + (counts.get(state)?.count ?? 0), 0)
  const movable = sum(unneeded, ...waiting)
  return {
    waiting: movable,
    left: remarks(
      { what: 'active', count: sum(all, 'active'), hint: 'let their workers finish them, then import again' },
      {
        what: 'needed by others',
        count: sum(all, ...waiting) - movable,
        hint: 'let the workers there do them, and what waits for them',
      },
      { what: 'blocked', count: sum(all, 'blocked'), hint: 'let the workers there do what they wait for' },
      {
        what: 'failed, expired or suspended',
        count: sum(all, 'failed', 'expired', 'suspended'),
        hint: 'taskstream redrive, there, makes them ready, if they are still wanted',
      },
    ),
    lost: [],
    prioritized: isPrioritized ? movable : 0,
    keyed: isKeyed ? movable : 0,
  }
}

/**
 * If this process dies between its two commits, a task is on both sides until the next run. A worker there would do it too, and in a topic with a
 * condition it may have the task before it.
 *
 * @throws CommandError refused
 */
async function checkNobody(transaction: unknown, topic: string, { tasks, place }: NamedDatabase): Promise<void> {
  const nodes: readonly NodeInfo[] = await tasks.nodes(transaction, { topic })
  const alive = nodes.filter(({ life }) => life === 'living' || life === 'silent').map(({ owner }) => owner)
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
async function checkAllMove(topic: string, condition: PollCondition, source: NamedDatabase): Promise<void> {
  const states = (['active', 'blocked', 'expired', 'failed', 'suspended'] as const).filter(
    (state) =>
      (state !== 'failed' || condition !== 'singular-by-identifier') &&
      (state !== 'suspended' || condition === 'singular-by-identifier-suspend-until-success'),
  )
  const counts = await countsOf(source, topic, { states })
  const [state] = states.filter((each) => (counts.get(each)?.count ?? 0) > 0)
  if (state === undefined) return
  throw new CommandError(
    'refused',
    `in "${topic}" of ${source.place}, ${counts.get(state)!.count} ${state} ${counts.get(state)!.count === 1 ? 'task keeps' : 'tasks keep'} others of the same identifier waiting: let workers there do what can be done, or redrive, cancel or purge what is ${state}`,
  )
}

async function optionsOf(database: NamedDatabase, topic: string): Promise<Required<TopicOptions>> {
  return (await readTopics(database, 1)).find((each) => each.topic === topic)!
}

async function countsOf(
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
async function checkAlike(there: Required<TopicOptions>, queue: string, source: NamedDatabase, goal: Goal): Promise<void> {
  const here = (await readTopics(goal.database, 1)).find(({ topic }) => topic === goal.topic)
  if (!here || (here.order === there.order && here.condition === there.condition)) return
  const said = ({ order, condition }: Required<TopicOptions>): string => `order ${order} and condition ${condition}`
  throw new CommandError(
    'refused',
    `topic "${queue}" in ${source.place} has ${said(there)}, and "${goal.topic}" in ${goal.database.place} has ${said(here)}: they would come in another order. Give another --topic`,
  )
}

/**
 * Within one database a task would find itself by its external id, and be cancelled.
 *
 * @throws CommandError refused
 */
async function checkApart(
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
