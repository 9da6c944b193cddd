/** Topics of another database of ours, such as the file of SQLite that has become too small: what waits there waits here, in the same order. */
import type { Activation, FilterState, TaskCount, TaskInfo, TopicLimits } from '@taskstream/task-api'
import type { NamedDatabase } from '../core/database.ts'
import { quoted } from '../core/explain.ts'
import { checkTopicKnown } from '../core/known.ts'
import { checkAlike, checkAllMove, checkApart, checkNobody, countsOf, optionsOf, waiting } from './leaving.ts'
import type { Goal } from './leaving.ts'
import { recordMove } from './moved-names.ts'
import { goalNote, MovingTopic } from './moving-topic.ts'
import { remarks } from './origin.ts'
import type { Origin, Push, Remark, Survey } from './origin.ts'

/** So many tasks are moved in one transaction at most. */
const mostTasks = 1_000

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
  const { order, condition, keyed, record } = await optionsOf(source, queue)
  await checkAlike({ order, condition, keyed, record }, queue, source, goal)
  const topic = new MovingTopic(queue, source, goal, push, condition !== 'none')
  return {
    place: source.place,
    options: { order, condition, keyed, record },
    check: async () => {
      const { tasks, reading } = source
      await checkApart(await reading<readonly TaskInfo[]>((transaction) => tasks.page(transaction, queue)), source, goal)
      await reading((transaction) => checkNobody(transaction, source))
      if (condition !== 'none') await checkAllMove(queue, condition, source)
    },
    begin: () => topic.begin(),
    stayed: () =>
      remarks({
        what: 'with the external id of another task here',
        count: topic.foreign,
        hint: 'a task of this id is another one here, or has been: look at both, and cancel one',
      }),
    record: (count) => recordMove(source, queue, count, goalNote(goal)),
    survey: () => surveyOf(source, queue, order === 'priority' || order === 'shared', keyed),
    move: (size) => topic.move(Math.min(size, mostTasks)),
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

async function surveyOf(source: NamedDatabase, topic: string, isPrioritized: boolean, isKeyed: boolean): Promise<Survey> {
  const all = await countsOf(source, topic)
  const unneeded = await countsOf(source, topic, { states: waiting, unneeded: true })
  const sum = (counts: ReadonlyMap<FilterState, TaskCount>, ...states: readonly FilterState[]): number =>
    states.reduce((total, state) => total + (counts.get(state)?.count ?? 0), 0)
  const movable = sum(unneeded, ...waiting)
  return {
    waiting: movable,
    left: remarks(
      {
        what: 'active',
        count: sum(all, 'active'),
        hint: 'let their workers finish them, and import again; those of a dead one come back once a worker starts there',
      },
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
