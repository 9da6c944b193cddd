/** Actions that make a timer or a topic known, or forget a timer: each is one transaction, together with its record. */
import type { TopicOptions } from '@taskstream/task-api'
import type { PeriodicTask, Scheduled } from '@taskstream/task-scheduler'
import { byOf } from './operator.ts'
import type { Operator } from './operator.ts'
import { timersOf } from './switches.ts'
import type { Switched, TimersNamed } from './switches.ts'

/**
 * Adds a timer.
 *
 * @param replace whether a timer of the same id is changed. Default false
 * @throws TaskError TIMER_DUPLICATE, ARGUMENT_INVALID, TIMER_INVALID, TOPIC_UNKNOWN
 * @example
 * await addTimer(operator, 'system', { id: 'housekeeping', timer: 'daily', topic: 'chores' })
 */
export async function addTimer(
  operator: Operator,
  scope: string,
  task: PeriodicTask,
  replace = false,
): Promise<Switched & { readonly done: Scheduled }> {
  const timers = timersOf(operator, scope)
  return await operator.transactions(async (transaction) => {
    if (!replace) await timers.add(transaction, task)
    const done: Scheduled = replace ? await timers.schedule(transaction, task) : 'added'
    if (done === 'unchanged') return { changed: false, done }
    const id: string = await operator.tasks.record(transaction, {
      action: done === 'added' ? 'timer add' : 'timer change',
      topic: task.topic,
      count: 0,
      filter: { scope, ids: [task.id] } satisfies TimersNamed,
      ...byOf(operator),
    })
    return { id, changed: true, done }
  })
}

/**
 * Removes timers, all of them or none. Tasks that they have submitted stay.
 *
 * @throws TaskError TIMER_UNKNOWN, ARGUMENT_INVALID
 */
export async function removeTimers(operator: Operator, scope: string, ids: readonly string[]): Promise<Switched> {
  const timers = timersOf(operator, scope)
  return await operator.transactions(async (transaction) => {
    for (const id of ids) await timers.remove(transaction, id)
    const filter = { scope, ids } satisfies TimersNamed
    const id: string = await operator.tasks.record(transaction, { action: 'timer remove', count: 0, filter, ...byOf(operator) })
    return { id, changed: true }
  })
}

/**
 * Makes a topic known. A known topic stays as it is.
 *
 * @param options its order, condition and index; without, a known topic may have any
 * @throws TaskError ARGUMENT_INVALID, TOPIC_DIFFERENT
 */
export async function createTopic(operator: Operator, topic: string, options?: TopicOptions): Promise<Switched> {
  const { tasks, transactions } = operator
  return await transactions(async (transaction): Promise<Switched> => {
    const changed = (await tasks.initialize(transaction, topic, ...(options ? [options] : []))) as boolean
    if (!changed) return { changed }
    const id: string = await tasks.record(transaction, { action: 'topic create', topic, count: 0, ...byOf(operator) })
    return { id, changed }
  })
}
