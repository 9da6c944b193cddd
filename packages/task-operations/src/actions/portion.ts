/** One portion of an action: its tasks are locked, changed and recorded in one transaction, so none is changed without a record, or recorded unchanged. */
import { stateOf } from '@taskstream/task-api'
import type { LeftTasks, LockedTask, LockedTasks, Task } from '@taskstream/task-api'
import type { Operator } from './operator.ts'
import { byOf } from './operator.ts'
import { packed, rangesOf } from './former.ts'
import { chosenOf, filterOf } from './request.ts'
import type { ActionRequest } from './request.ts'

/** How many tasks one transaction changes at most. */
export const portionSize = 1_000

export interface PortionOptions {
  readonly size: number
  readonly asOf: Date
  /** The first sequence, inclusive. */
  readonly from?: number
  /** The last sequence, inclusive. */
  readonly to?: number
  /** The action of which this is a further portion. */
  readonly portion?: { readonly of: string; readonly number: number }
}

export interface PortionDone {
  /** What the tasks were that were changed. */
  readonly tasks: readonly LockedTask[]
  readonly id?: string
  /** The last sequence that was looked at. */
  readonly last?: number
  readonly hasMore: boolean
}

export async function doPortion(
  operator: Operator,
  transaction: unknown,
  request: ActionRequest,
  options: PortionOptions,
): Promise<PortionDone> {
  const { tasks } = operator
  const { topic } = request
  const { tasks: locked, last, hasMore } = await lockPortion(operator, transaction, request, options)
  const went = { hasMore, ...(last !== undefined && { last }) }
  if (locked.length === 0) return { tasks: [], ...went }
  const { changed, left } = await change(operator, transaction, request, locked)
  if (changed.length === 0) return { tasks: [], ...went }
  const { portion } = options
  const id = await tasks.record(transaction, {
    action: request.action,
    topic,
    ...byOf(operator),
    count: changed.length,
    filter: chosenOf(request),
    sequences: rangesOf(changed.map(({ sequence }) => sequence)),
    ...(left && { former: packed(changed, left) }),
    ...(portion && { portion }),
  })
  return { tasks: changed, id, ...went }
}

async function lockPortion(
  { tasks }: Operator,
  transaction: unknown,
  request: ActionRequest,
  { size, asOf, from, to }: PortionOptions,
): Promise<LockedTasks> {
  const { topic, action, named, fingerprint } = request
  const filter = filterOf(request)
  if (named === undefined) {
    return await tasks.lock(transaction, topic, {
      ...filter,
      // What has changed after the preview is not meant.
      changedBefore: filter.changedBefore ?? asOf,
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
      ...(fingerprint !== undefined && { fingerprint }),
      ...(request.try !== undefined && { newest: true }),
      unneeded: action === 'purge',
      // A handler that works in its transaction has locked its task: a cancellation waits for it, as the verb does.
      skipLocked: action !== 'cancel' && action !== 'reschedule',
      limit: size,
    })
  }
  // One call for all sequences locks the tasks in their order.
  const sequences = named.flatMap((one) =>
    typeof one === 'number' ? [one] : Array.isArray(one) ? (one as readonly number[]) : [],
  )
  const others = named.filter((one) => typeof one !== 'number' && !Array.isArray(one))
  const found = new Map<number, LockedTask>()
  for (const one of [...(sequences.length > 0 ? [sequences] : []), ...others]) {
    const { tasks: locked }: LockedTasks = await tasks.lock(transaction, topic, {
      ...filter,
      tasks: one,
      unneeded: action === 'purge',
    })
    for (const task of locked) found.set(task.sequence, task)
  }
  return { tasks: [...found.values()].toSorted((left, right) => left.sequence - right.sequence), hasMore: false }
}

interface Changed {
  readonly changed: readonly LockedTask[]
  /** How the tasks were left. Undefined if they are gone. */
  readonly left?: LeftTasks
}

async function change(
  { tasks }: Operator,
  transaction: unknown,
  request: ActionRequest,
  locked: readonly LockedTask[],
): Promise<Changed> {
  const { topic } = request
  const sequences = locked.map(({ sequence }) => sequence)
  const all = locked.map(({ sequence, identifier }): Task => ({ topic, sequence, identifier }))
  switch (request.action) {
    case 'redrive':
      await tasks.recreate(transaction, topic, 'reset', all)
      return { changed: locked, left: { states: ['ready', 'blocked'] } }
    case 'cancel':
      await tasks.cancel(transaction, topic, sequences)
      return { changed: locked, left: { states: ['filtered'], reason: 'cancelled' } }
    case 'reassign':
      await tasks.reassign(transaction, topic, new Map(all.map((task) => [task, request.result])))
      return { changed: locked, left: { states: [stateOf(request.result)] } }
    case 'reschedule': {
      const { to } = request
      await tasks.reschedule(transaction, topic, sequences, to)
      const { tasks: now }: LockedTasks = await tasks.lock(transaction, topic, { tasks: sequences })
      const one = now[0]!
      // A task that has become ready by itself since is as good as untouched.
      const left: LeftTasks = {
        states: ['ready', 'delayed'],
        ...((to.due !== undefined || to.delayMs !== undefined) && one.due && { due: one.due }),
        ...((to.deadline !== undefined || to.deadlineMs !== undefined) && { deadline: one.deadline ?? null }),
        ...(to.priority !== undefined && { priority: to.priority }),
      }
      return { changed: locked, left }
    }
    case 'purge': {
      const { states } = filterOf(request)
      const count = await tasks.purge(transaction, topic, { states, sequences, limit: sequences.length })
      // A task may have begun to need one of these in the meantime.
      if (count === locked.length) return { changed: locked }
      const { tasks: kept }: LockedTasks = await tasks.lock(transaction, topic, { tasks: sequences })
      const stays = new Set(kept.map(({ sequence }) => sequence))
      return { changed: locked.filter(({ sequence }) => !stays.has(sequence)) }
    }
  }
}
