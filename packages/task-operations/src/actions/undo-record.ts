/** Undoes what one record tells of, in the transaction of the caller. */
import { TaskError } from '@taskstream/task-api'
import type { LockedTasks, RecordedAction, Restoration, TopicLimits } from '@taskstream/task-api'
import { sequencesIn, unpacked } from './former.ts'
import { setQuiet } from './nodes.ts'
import type { NodeNamed } from './nodes.ts'
import { byOf } from './operator.ts'
import type { Operator } from './operator.ts'
import { timersOf } from './switches.ts'
import type { TimersNamed } from './switches.ts'

/** How many tasks, timers or topics are again what they were, and why the others are not. */
export interface UndoneRecord {
  readonly undone: number
  /** Those that were taken by a node since. */
  readonly taken: number
  /** Those that were changed in another way since, or deleted. */
  readonly changed: number
  /** Those that later tasks of their identifier have overtaken. */
  readonly overtaken: number
  /** Those that had succeeded: what they returned is gone. */
  readonly lost: number
}

type Restored = UndoneRecord & { readonly restored: readonly number[] }

const none: Restored = { undone: 0, taken: 0, changed: 0, overtaken: 0, lost: 0, restored: [] }
const switched = (did: boolean): Restored => ({ ...none, ...(did ? { undone: 1 } : { changed: 1 }) })

export async function undoRecord(operator: Operator, transaction: unknown, record: RecordedAction): Promise<Restored> {
  const { tasks } = operator
  const { action, topic, former } = record
  const { via: _via, ...by } = byOf(operator)
  const told = { ...by, note: operator.note ?? `undo ${record.id}` }
  if (topic !== undefined && action === 'pause') return switched(await tasks.activate(transaction, topic, told))
  if (topic !== undefined && action === 'resume') return switched(await tasks.deactivate(transaction, topic, told))
  if (topic !== undefined && action === 'limits' && former)
    return switched(await limitAgain(operator, transaction, topic, former as never))
  if (action === 'node quiet' || action === 'node resume') {
    const { owner } = former as unknown as NodeNamed
    return switched((await setQuiet(operator, transaction, owner, action === 'node resume')) ?? false)
  }
  if (action === 'timer pause' || action === 'timer resume') {
    const { scope, ids } = former as unknown as TimersNamed
    const timers = timersOf(operator, scope)
    let undone = 0
    for (const id of ids)
      if (await timers.get(transaction, id))
        if (await timers[action === 'timer pause' ? 'resume' : 'pause'](transaction, id)) undone++
    return { ...none, undone, changed: ids.length - undone }
  }
  if (topic !== undefined && (action === 'timer run' || action === 'push'))
    return await cancelSubmitted(operator, transaction, topic, record)
  return await restoreTasks(operator, transaction, record)
}

async function restoreTasks(
  { tasks }: Operator,
  transaction: unknown,
  { id, at, action, topic, sequences, former }: RecordedAction,
): Promise<Restored> {
  const before = unpacked(sequences, former)
  if (topic === undefined || !before)
    throw new TaskError(
      'ACTION_FINAL',
      `The action ${id} (${action}) cannot be undone: its record does not say what was before`,
      { id, action },
    )
  const restorable = before.tasks.filter(({ state }) => state !== 'succeeded')
  const lost = before.tasks.length - restorable.length
  if (restorable.length === 0) return { ...none, lost }
  const { restored, ...kept }: Restoration = await tasks.restore(transaction, topic, {
    tasks: restorable,
    left: before.left,
    made: at,
  })
  return { ...kept, undone: restored.length, lost, restored: restored.map(({ sequence }) => sequence) }
}

/** Tasks that were pushed, by an operator or a timer, are cancelled, but for those that a node has taken. */
async function cancelSubmitted(
  { tasks }: Operator,
  transaction: unknown,
  topic: string,
  { sequences = [] }: RecordedAction,
): Promise<Restored> {
  const submitted = sequencesIn(sequences)
  const { tasks: found }: LockedTasks = await tasks.lock(transaction, topic, { tasks: submitted, skipLocked: true })
  const untaken = found.filter(({ attempt }) => attempt === 0)
  const waiting = untaken.filter(({ state }) => ['ready', 'delayed', 'blocked'].includes(state)).map(({ sequence }) => sequence)
  if (waiting.length > 0) await tasks.cancel(transaction, topic, waiting)
  return {
    ...none,
    undone: waiting.length,
    taken: submitted.length - untaken.length,
    changed: untaken.length - waiting.length,
    restored: waiting,
  }
}

/** Limits that somebody has changed since stay as they are. */
async function limitAgain(
  { tasks }: Operator,
  transaction: unknown,
  topic: string,
  { before, after }: { readonly before: TopicLimits; readonly after: TopicLimits },
): Promise<boolean> {
  const now = ((await tasks.limits(transaction)) as ReadonlyMap<string, TopicLimits>).get(topic) ?? {}
  if (textOf(now) !== textOf(after)) return false
  await tasks.limit(transaction, topic, before)
  return true
}

function textOf(limits: TopicLimits): string {
  return JSON.stringify(Object.entries(limits).toSorted(([left], [right]) => (left < right ? -1 : 1)))
}
