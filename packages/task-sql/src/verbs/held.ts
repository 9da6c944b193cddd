import { checkTopic, invalid, isTask, listOf, TaskError, taskToString } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import type { HeldRequest, RowColumn } from '../core/requests.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { isHeld, isLease } from '../core/lease.ts'
import { enqueueIdentifiers } from './recheck.ts'

/**
 * Checks the tasks of one call, and sorts them by sequence. Two calls with the same tasks then lock them in the same order, and
 * cannot deadlock.
 *
 * @throws TaskError ARGUMENT_INVALID, TASK_DUPLICATE
 */
export function checkHeld(topic: string, tasks: Iterable<HeldTask>): HeldTask[] {
  const sorted = sortHeld(topic, tasks)
  // mutants: equivalent arithmetic, of two that are alike either can be found
  const twice = sorted.find(({ sequence }, index) => sequence === sorted[index + 1]?.sequence)
  if (twice) throw new TaskError('TASK_DUPLICATE', `${taskToString(twice)} stands twice in one call`, { task: twice })
  return sorted
}

/** Checks tasks, of which several may be attempts at one task, and sorts them by sequence. @throws TaskError ARGUMENT_INVALID */
export function sortHeld(topic: string, tasks: Iterable<HeldTask>): HeldTask[] {
  checkTopic(topic)
  const sorted = listOf('tasks', tasks)
  for (const task of sorted) {
    if (!isLease(task?.lease) || !isTask(task)) throw invalid('task', task, 'must be one that poll returned')
    if (task.topic !== topic) throw invalid('task', taskToString(task), `must be of topic "${topic}"`)
  }
  return sorted.toSorted((left, right) => left.sequence - right.sequence)
}

/**
 * Does something to the tasks of one call that are still held, by one request for each way in which they are.
 *
 * @returns the sequences to which it was done
 */
export function* ofHeld(
  context: Context,
  topic: string,
  tasks: readonly HeldTask[],
  act: (request: HeldRequest) => Verb<ReadonlySet<number>>,
  columnsOf: (tasks: readonly HeldTask[]) => readonly RowColumn[] = () => [],
): Verb<Set<number>> {
  const {
    active = [],
    locked = [],
    ranged = [],
  } = Object.groupBy(tasks, (task) => (isHeld(task, 'locked') ? 'locked' : isHeld(task, 'ranged') ? 'ranged' : 'active'))
  const done = new Set<number>()
  yield* ask(active, {})
  yield* ask(locked, { locked: true })
  yield* ask(ranged, { locked: true, ranged: true })
  // An expiry makes active rows of a range whose owner seems dead. If he lives on, they are his.
  yield* ask(
    ranged.filter(({ sequence }) => !done.has(sequence)),
    {},
  )
  return done

  function* ask(some: readonly HeldTask[], { locked = false, ranged = false }): Verb<void> {
    // mutants: equivalent condition:false, a request of no tasks finds none
    if (some.length === 0) return
    const request = {
      topic,
      owner: context.owner,
      tasks: some,
      columns: columnsOf(some),
      locked,
      ranged,
      now: context.now(),
      // mutants: equivalent method, the tasks of a topic are alike in this
      recheck: some.some((task) => isHeld(task, 'staged')),
    }
    for (const sequence of yield* act(request)) done.add(sequence)
  }
}

/** Writes rechecks for tasks that are no longer held, unless `changeHeld` has: another task of their identifiers may be free now. */
export function* enqueueRechecksOf(context: Context, topic: string, tasks: readonly HeldTask[]): Verb<void> {
  if (context.dialect.writes.rechecksHeld) return
  const staged = tasks.filter((task) => isHeld(task, 'staged'))
  yield* enqueueIdentifiers(
    context,
    topic,
    staged.map(({ identifier }) => identifier),
  )
}

/** Splits tasks, in their order, by whether they are among `sequences`. */
export function split(tasks: readonly HeldTask[], sequences: ReadonlySet<number>): { found: HeldTask[]; lost: HeldTask[] } {
  // mutants: equivalent condition:false, the general way finds the same
  if (sequences.size === tasks.length) return { found: [...tasks], lost: [] }
  return {
    found: tasks.filter(({ sequence }) => sequences.has(sequence)),
    lost: tasks.filter(({ sequence }) => !sequences.has(sequence)),
  }
}
