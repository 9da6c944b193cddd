/** What an action would do: it is counted exactly, and nothing is written. */
import type { FilterState, LockedTask, LockedTasks, Redrive, RevivableState, TaskCount } from '@taskstream/task-api'
import { readingOf } from './operator.ts'
import type { Operator } from './operator.ts'
import { filterOf } from './request.ts'
import type { ActionRequest } from './request.ts'

/** How many tasks a preview shows. */
const shownAtMost = 20
/** How far tasks of one error are counted. */
const countedByError = 100_000

export interface ActionPreview {
  /** How many tasks the action would be done to. */
  readonly count: number
  /** How many there are of which `limit` and `try` take some. */
  readonly of: number
  /** The instant of the preview, by the database's clock, for `act`. */
  readonly asOf: Date
  /** By state, before the limit. */
  readonly states: Readonly<Partial<Record<FilterState, number>>>
  /** The first tasks, at most 20; with `try` the newest. */
  readonly tasks: readonly LockedTask[]
  /** The highest sequence among them all; of tasks that are named, or of one error, it is not known. */
  readonly last?: number
}

/**
 * What an action would do. Counting reads every task of the topic.
 *
 * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
 * @example
 * const { count, states } = await preview(operator, { action: 'redrive', topic: 'invoices', fingerprint })
 */
export async function preview(
  operator: Operator,
  request: ActionRequest,
  { limit = Infinity, asOf: given }: { readonly limit?: number; readonly asOf?: Date } = {},
): Promise<ActionPreview> {
  const { tasks } = operator
  const { topic, action, named, fingerprint } = request
  const meant = filterOf(request)
  return await readingOf(operator)(async (transaction): Promise<ActionPreview> => {
    const asOf = given ?? new Date((await tasks.timers.now(transaction, topic)) as number)
    if (named !== undefined) {
      const found = new Map<number, LockedTask>()
      for (const one of named) {
        const { tasks: locked }: LockedTasks = await tasks.lock(transaction, topic, {
          ...meant,
          tasks: one,
          unneeded: action === 'purge',
          dryRun: true,
        })
        for (const task of locked) found.set(task.sequence, task)
      }
      const all = [...found.values()].toSorted((left, right) => left.sequence - right.sequence)
      return { count: all.length, of: all.length, asOf, states: tally(all), tasks: all.slice(0, shownAtMost) }
    }
    const filter = { ...meant, changedBefore: meant.changedBefore ?? asOf }
    const states: Partial<Record<FilterState, number>> = {}
    let last: number | undefined
    if (fingerprint === undefined) {
      const counts = (await tasks.count(transaction, { ...filter, topic, unneeded: action === 'purge' })) as ReadonlyMap<
        string,
        ReadonlyMap<FilterState, TaskCount>
      >
      for (const [state, { count, bound }] of counts.get(topic) ?? []) {
        states[state] = count
        last = Math.max(last ?? 0, bound)
      }
    } else
      for (const state of filter.states) {
        const one = { ...filter, states: [state as RevivableState], fingerprint, dryRun: true, limit: countedByError }
        const { count }: Redrive = await tasks.redrive(transaction, topic, one)
        if (count > 0) states[state] = count
      }
    const of = Object.values(states).reduce((sum, count) => sum + count, 0)
    const count = Math.min(of, limit, request.try ?? Infinity)
    const shown: LockedTasks =
      count === 0
        ? { tasks: [], hasMore: false }
        : await tasks.lock(transaction, topic, {
            ...filter,
            ...(fingerprint !== undefined && { fingerprint }),
            newest: request.try !== undefined,
            unneeded: action === 'purge',
            dryRun: true,
            limit: Math.min(shownAtMost, count),
          })
    return { count, of, asOf, states, tasks: shown.tasks, ...(last !== undefined && { last }) }
  })
}

function tally(tasks: readonly LockedTask[]): Partial<Record<FilterState, number>> {
  return Object.fromEntries([...Map.groupBy(tasks, ({ state }) => state)].map(([state, { length }]) => [state, length]))
}
