/** What needs a task that goes on as another needs that one from then on. So its result is kept, whatever becomes of the first. */
import { TaskError, taskLimits } from '@taskstream/task-api'
import type { TaskKey } from '@taskstream/task-api'
import { raw, sql } from '../core/statement.ts'
import { toNumber } from '../core/task-row.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { dependencies } from './dependencies.ts'

/** How many tasks are looked at before a circle is ruled out. It is never found then, and its tasks stay blocked. */
const mostLookedAt = 10_000

/**
 * @param successors the tasks of the topic that go on as others
 * @throws TaskError TASK_STATE if a successor waits for the task itself, through others perhaps: none of them would ever start
 */
export function* moveNeeds(context: Context, topic: string, successors: ReadonlyMap<number, TaskKey>): Verb<void> {
  if (successors.size === 0) return
  const { paths, tables } = context.dialect
  const rows = yield sql`
    select d.parent as sequence, d.topic, d.sequence as needing
      from ${tables.dependency} d
     where d.parent_topic = ${topic} and ${paths.among(raw('d.parent'), [...successors.keys()])}`
  for (const [sequence, needing] of Map.groupBy(rows, (row) => toNumber(row['sequence']))) {
    const successor = successors.get(sequence)!
    const all = needing.map((row) => ({ topic: String(row['topic']), sequence: toNumber(row['needing']) }))
    if (yield* waitsFor(context, successor, all))
      throw new TaskError(
        'TASK_STATE',
        `Task ${sequence} of topic "${topic}" would go on as task ${successor.sequence} of topic "${successor.topic}", which waits for it: neither would ever end`,
        { task: { topic, sequence }, successor },
      )
    yield sql`
      update ${tables.dependency}
         set parent_topic = ${successor.topic}, parent = ${successor.sequence}
       where parent_topic = ${topic} and parent = ${sequence}`
  }
}

/** Whether a task is one of these, or waits for one of them through others. */
export function* waitsFor(context: Context, task: TaskKey, those: readonly TaskKey[]): Verb<boolean> {
  const wanted = new Set(those.map(nameOf))
  const seen = new Set([nameOf(task)])
  for (let next = [task]; next.length > 0 && seen.size <= mostLookedAt;) {
    if (next.some((one) => wanted.has(nameOf(one)))) return true
    const needed = yield* dependencies(context, next.slice(0, taskLimits.batchSize))
    next = needed.flat().map(({ on }) => on)
    next = next.filter((one) => !seen.has(nameOf(one)) && seen.add(nameOf(one)))
  }
  return false
}

function nameOf({ topic, sequence }: TaskKey): string {
  return `${sequence} ${topic}`
}
