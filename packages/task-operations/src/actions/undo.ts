/** Undoes actions: what nobody has touched since becomes again what it was. */
import { isTaskError, TaskError } from '@taskstream/task-api'
import type { RecordedAction } from '@taskstream/task-api'
import { rangesOf } from './former.ts'
import { byOf, readingOf } from './operator.ts'
import type { Operator } from './operator.ts'
import { again } from './portions.ts'
import { undoRecord } from './undo-record.ts'
import type { UndoneRecord } from './undo-record.ts'

export interface UndoOptions {
  /** Whether only to report what would be undone. Default false. */
  readonly dryRun?: boolean
  /** How many portions this call undoes at most. Default: all. Call again as long as `hasMore`. */
  readonly portions?: number
  /** Aborted: it ends after the portion that runs. */
  readonly signal?: AbortSignal
  /** Called after each portion, with how many tasks were looked at. */
  readonly onProgress?: (done: number) => void
}

/** What was undone. Tasks, or timers; a topic counts as one. */
export interface Undone extends UndoneRecord {
  /** The id of this action, which is recorded, too. */
  readonly id: string
  /** What the undone action was. */
  readonly action: string
  readonly topic?: string
  /** How many the undone action concerned, in the portions of this call. */
  readonly of: number
  /** Whether there are portions that were not undone. */
  readonly hasMore: boolean
  readonly stopped?: { readonly error?: unknown }
}

/** Portions of an action that are looked at: ten million tasks. */
const mostRecords = 10_000

/**
 * Undoes an action: a redrive, cancellation, rescheduling, reassignment or push of tasks, a pause, new limits, the run of a timer, or that a node was quieted. Tasks that were taken or
 * changed since stay as they are, and are counted. Each portion is one transaction, with its record. Nothing is undone twice, whoever asks.
 *
 * @throws TaskError ACTION_UNKNOWN, ACTION_UNDONE, ACTION_FINAL
 * @example
 * const { undone, taken } = await undo(operator, '5e1c0a9b7f21')
 * console.log(`undone ${undone}, ${taken} have run since`)
 */
export async function undo(operator: Operator, id: string, options: UndoOptions = {}): Promise<Undone> {
  const { dryRun = false, portions = Infinity, signal, onProgress } = options
  const { tasks } = operator
  const records = await readingOf(operator)<readonly RecordedAction[]>((transaction) =>
    tasks.actions(transaction, { id, details: false, limit: mostRecords }),
  )
  const own = records.filter((record) => record.id === id || record.id.startsWith(`${id}-`))
  const undoneIds = new Set(records.map(({ undoes }) => undoes))
  // What was recorded further portions of, without the first, was purged in part.
  const action = own.find((record) => record.undoes === undefined) ?? own[0]
  if (!action)
    throw new TaskError('ACTION_UNKNOWN', `There is no action ${id}, or its record was purged. List them: taskstream audit`, {
      id,
    })
  checkUndoable(action, id)
  // The last portion was the last to change anything.
  const open = own.filter((record) => record.undoes === undefined && !undoneIds.has(record.id)).toSorted(lastFirst)
  const sum = { undone: 0, taken: 0, changed: 0, overtaken: 0, lost: 0 }
  let [at, of, tried, stopped] = [0, 0, 0, undefined as Undone['stopped']]
  try {
    for (; at < open.length; at++) {
      if (signal?.aborted) {
        stopped = {}
        break
      }
      if (at >= portions) break
      const record = open[at]!
      const done = await again(() => undoPortion(operator, record.id, dryRun), signal)
      // Somebody else has undone this portion meanwhile.
      if (!done) continue
      tried++
      let looked = 0
      for (const key of Object.keys(sum) as (keyof typeof sum)[]) {
        sum[key] += done[key]
        looked += done[key]
      }
      // Of a topic, a process or timers no tasks were counted.
      of += record.count || looked
      onProgress?.(of)
    }
  } catch (error) {
    if (isTaskError(error, 'ACTION_FINAL') && tried === 0) throw error
    stopped = { error }
  }
  if (tried === 0 && !stopped)
    throw new TaskError('ACTION_UNDONE', `Action ${id} was undone before (taskstream audit shows by whom)`, { id })
  const { topic } = action
  return {
    ...sum,
    id: `${id}u`,
    action: action.action,
    ...(topic !== undefined && { topic }),
    of,
    hasMore: at < open.length,
    ...(stopped && { stopped }),
  }
}

/** Rolls a transaction back that was only to be looked at. */
class DryRun extends Error {
  readonly done: UndoneRecord

  constructor(done: UndoneRecord) {
    super('a dry run')
    this.done = done
  }
}

/** @returns undefined if it was undone meanwhile */
async function undoPortion(operator: Operator, id: string, dryRun: boolean): Promise<UndoneRecord | undefined> {
  const { tasks, transactions } = operator
  try {
    return await transactions(async (transaction) => {
      const records = (await tasks.actions(transaction, { id, portions: false })) as readonly RecordedAction[]
      if (records.some(({ undoes }) => undoes === id)) return undefined
      const record = records.find((one) => one.id === id)
      if (!record)
        throw new TaskError('ACTION_UNKNOWN', `The record of ${id} was purged: what it was is not known any more`, { id })
      const { topic } = record
      const undoing = {
        action: 'undo',
        ...(topic !== undefined && { topic }),
        ...byOf(operator),
        filter: { action: record.action },
        undoes: id,
      }
      // Whoever else undoes it waits here, and does not find some of its tasks locked.
      await tasks.record(transaction, { ...undoing, count: 0 })
      const { restored, ...done } = await undoRecord(operator, transaction, record)
      if (dryRun) throw new DryRun(done)
      const sequences = restored.length > 0 ? { sequences: rangesOf(restored) } : {}
      await tasks.record(transaction, { ...undoing, ...sequences, count: done.undone, replaces: true })
      return done
    })
  } catch (error) {
    if (error instanceof DryRun) return error.done
    if (isTaskError(error, 'ACTION_UNDONE')) return undefined
    throw error
  }
}

const never: Readonly<Record<string, string>> = {
  purge: 'the tasks are deleted, and nothing of them is kept',
  destroy: 'the topic is deleted with its tasks, and nothing of them is kept',
  'timer add': 'remove the timer: taskstream periodic rm',
  'timer change': 'what the timer was before is not kept: taskstream periodic add --replace',
  'timer remove': 'what the timer was is not kept: taskstream periodic add',
  'topic create': 'the topic may have tasks by now: taskstream topic destroy',
  import: 'the tasks are taken away in their old place: import them from here, there',
  export: 'the tasks are taken away here: import them, from where they are now',
  repair: 'what was wrong before is not kept',
  undo: 'it undoes another action itself: do that action again',
}

/** Whether `undo` undoes actions of this name, if nobody has touched since what they have changed. */
export function isUndoable(action: string): boolean {
  return never[action] === undefined
}

function checkUndoable({ action, undoes }: RecordedAction, id: string): void {
  const why = undoes === undefined ? never[action] : never['undo']
  if (why !== undefined)
    throw new TaskError('ACTION_FINAL', `The action ${id} (${action}) cannot be undone: ${why}`, { id, action })
}

function lastFirst(left: RecordedAction, right: RecordedAction): number {
  return portionOf(right) - portionOf(left)
}

function portionOf({ id }: RecordedAction): number {
  return Number(/-(\d+)$/.exec(id)?.[1] ?? 0)
}
