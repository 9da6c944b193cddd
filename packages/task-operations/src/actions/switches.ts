/** Actions on a topic or a timer as a whole: each is one transaction, together with its record. */
import { taskToString } from '@taskstream/task-api'
import type { Execution, JsonValue, PushedTask, StoredTimer, TopicLimits } from '@taskstream/task-api'
import { periodicTasks } from '@taskstream/task-scheduler'
import type { PeriodicTasks } from '@taskstream/task-scheduler'
import { byOf } from './operator.ts'
import type { Operator } from './operator.ts'

/** What an action has changed. */
export interface Switched {
  /** The id of the action, for `undo`. Undefined if nothing was changed, as it was so already. */
  readonly id?: string
  readonly changed: boolean
}

/**
 * Has every node stop processing a topic, in phases, or process it again.
 *
 * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
 * @example
 * const { id } = await switchTopic({ ...operator, note: 'the bank is down' }, 'invoices', 'pause')
 */
export async function switchTopic(operator: Operator, topic: string, action: 'pause' | 'resume'): Promise<Switched> {
  const { tasks, transactions } = operator
  return await transactions(async (transaction): Promise<Switched> => {
    const { via: _via, ...told } = byOf(operator)
    const changed = (await tasks[action === 'pause' ? 'deactivate' : 'activate'](transaction, topic, told)) as boolean
    if (!changed) return { changed }
    const id: string = await tasks.record(transaction, {
      action,
      topic,
      count: 0,
      former: { active: action === 'pause' },
      ...byOf(operator),
    })
    return { id, changed }
  })
}

/**
 * Deletes a topic with all of its tasks. Nothing undoes that.
 *
 * @throws TaskError ARGUMENT_INVALID
 */
export async function destroyTopic(operator: Operator, topic: string): Promise<Switched> {
  const { tasks, transactions } = operator
  return await transactions(async (transaction): Promise<Switched> => {
    const changed = (await tasks.destroy(transaction, topic)) as boolean
    if (!changed) return { changed }
    const id: string = await tasks.record(transaction, { action: 'destroy', topic, count: 0, ...byOf(operator) })
    return { id, changed }
  })
}

/**
 * Gives a topic other limits, made of those that it has.
 *
 * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
 */
export async function limitTopic(
  operator: Operator,
  topic: string,
  to: (before: TopicLimits) => TopicLimits,
): Promise<Switched & { readonly limits: TopicLimits }> {
  const { tasks, transactions } = operator
  return await transactions(async (transaction) => {
    const before = ((await tasks.limits(transaction)) as ReadonlyMap<string, TopicLimits>).get(topic) ?? {}
    const limits = (await tasks.limit(transaction, topic, to(before))) as TopicLimits
    const former = { before, after: limits } as unknown as JsonValue
    const id: string = await tasks.record(transaction, { action: 'limits', topic, count: 0, former, ...byOf(operator) })
    return { id, changed: true, limits }
  })
}

/** How a record names timers. */
export interface TimersNamed {
  readonly scope: string
  readonly ids: readonly string[]
}

/** Timers of a scope: those that are named, or all. */
export interface ChosenTimers {
  readonly scope: string
  /** Default: all that the action changes. */
  readonly ids?: readonly string[]
}

/**
 * Pauses timers, or has them submit tasks again, from now on.
 *
 * @returns the ids of the timers that were changed
 * @throws TaskError ARGUMENT_INVALID, TIMER_UNKNOWN
 */
export async function switchTimers(
  operator: Operator,
  { scope, ids }: ChosenTimers,
  action: 'pause' | 'resume',
): Promise<Switched & { readonly ids: readonly string[] }> {
  const { tasks, transactions } = operator
  const timers = timersOf(operator, scope)
  return await transactions(async (transaction) => {
    const all = async (): Promise<readonly string[]> => {
      const status = action === 'pause' ? 'running' : 'paused'
      const locked = (await tasks.timers.lockAll(transaction, scope, status)) as readonly StoredTimer[]
      return locked.map(({ id }) => id)
    }
    const done: string[] = []
    for (const id of ids ?? (await all())) if (await timers[action](transaction, id)) done.push(id)
    if (done.length === 0) return { changed: false, ids: [] }
    const former = { scope, ids: done } satisfies TimersNamed
    // Whoever reads the audit is told of some; an undo needs all.
    const of = { filter: { scope, ids: done.slice(0, 20) }, former, ...byOf(operator) }
    const id: string = await tasks.record(transaction, { action: `timer ${action}`, count: 0, ...of })
    return { id, changed: true, ids: done }
  })
}

/**
 * Submits a task of a timer now; its next occurrence stays as it is.
 *
 * @throws TaskError ARGUMENT_INVALID, TIMER_UNKNOWN
 */
export async function runTimer(
  operator: Operator,
  scope: string,
  timer: string,
): Promise<Switched & { readonly submitted?: PushedTask; readonly unfinished?: number }> {
  const { tasks, transactions } = operator
  const timers = timersOf(operator, scope)
  return await transactions(async (transaction) => {
    const { submitted, unfinished } = await timers.runNow(transaction, timer)
    if (!submitted) return { changed: false, ...(unfinished !== undefined && { unfinished }) }
    const { topic, sequence } = submitted
    const id: string = await tasks.record(transaction, {
      action: 'timer run',
      topic,
      count: 1,
      sequences: [[sequence, sequence]],
      filter: { scope, ids: [timer] },
      former: { scope, ids: [timer], task: taskToString(submitted) },
      ...byOf(operator),
    })
    return { id, changed: true, submitted }
  })
}

export function timersOf({ tasks }: Pick<Operator, 'tasks'>, scope: string): PeriodicTasks<unknown> {
  return periodicTasks<unknown, Execution>(tasks, { scope }) as PeriodicTasks<unknown>
}
