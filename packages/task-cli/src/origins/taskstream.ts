/** Topics of another database of ours, such as the file of SQLite that has become too small: what waits there waits here, in the same order. */
import { cutText, taskLimits } from '@taskstream/task-api'
import type {
  Activation,
  FilterState,
  LockedTasks,
  PushedTask,
  TaskCount,
  TaskCreation,
  TaskInfo,
  TopicLimits,
} from '@taskstream/task-api'
import type { NamedDatabase } from '../core/database.ts'
import { quoted } from '../core/explain.ts'
import { checkTopicKnown } from '../core/known.ts'
import { operatorOf } from '../core/operator.ts'
import { checkAlike, checkAllMove, checkApart, checkNobody, countsOf, optionsOf, takeFromDead } from './leaving.ts'
import type { Goal } from './leaving.ts'
import { remarks } from './origin.ts'
import type { Origin, Push, Remark, Survey } from './origin.ts'

const waiting: readonly FilterState[] = ['ready', 'delayed']
/** Payloads may be large, so fewer are read at a time than are moved. */
const pageSize = 100

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
    prepare: async () => {
      await source.transactions((transaction) => takeFromDead(transaction, queue, source))
    },
    check: async () => {
      const [any]: readonly TaskInfo[] = await source.reading((transaction) => tasks.page(transaction, queue, { size: 1 }))
      if (any) await checkApart(any, source, goal)
      await source.reading((transaction) => checkNobody(transaction, queue, source))
      if (isOrdered) await checkAllMove(queue, condition, source)
    },
    record: async (count, to) => {
      const { actor, via } = operatorOf(source)
      const note = cutText(`to ${to}`, taskLimits.noteLength)
      await source.transactions<string>((transaction) =>
        tasks.record(transaction, { action: 'export', topic: queue, count, via, note, ...(actor !== undefined && { actor }) }),
      )
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

/** What somebody has set by hand, and the topic here begins without. */
async function lostOf({ tasks, reading }: NamedDatabase, topic: string): Promise<readonly Remark[]> {
  const [activations, limits] = await reading(
    async (transaction) =>
      [
        (await tasks.activations(transaction)) as ReadonlyMap<string, Activation>,
        (await tasks.limits(transaction)) as ReadonlyMap<string, TopicLimits>,
      ] as const,
  )
  return remarks(
    {
      what: 'pause',
      count: activations.get(topic)?.active === false ? 1 : 0,
      hint: `before workers start here: taskstream pause ${quoted(topic)}`,
    },
    {
      what: 'limits',
      count: Object.keys(limits.get(topic) ?? {}).length,
      hint: 'those of a definition are set when it starts, others by taskstream limits',
    },
  )
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
    lost: await lostOf(source, topic),
    prioritized: isPrioritized ? movable : 0,
    keyed: isKeyed ? movable : 0,
  }
}
