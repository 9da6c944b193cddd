import { checkNames, checkText, invalid, optionNames } from '@taskstream/task-api'
import { checkPeriodicTask, periodicLimits } from './definition.ts'
import { checkStored, findTopic, store } from './edit.ts'
import type { ReadyTask } from './edit.ts'
import { list } from './look.ts'
import type { PeriodicTask } from './periodic-task.ts'
import { answer } from './steps.ts'
import type { Steps, Work } from './steps.ts'

export interface ReconcileOptions {
  /** What is done with timers that the application declared before and no longer declares. Default `report`. */
  readonly undeclared?: 'report' | 'remove'
}

const names = optionNames<ReconcileOptions>('reconcile', { undeclared: true })

/** The ids of an application's timers, by what `reconcile` did with them. */
export interface Reconciliation {
  readonly added: readonly string[]
  readonly changed: readonly string[]
  readonly unchanged: readonly string[]
  /** Timers that were declared before and no longer are. */
  readonly undeclared: readonly string[]
}

export function* reconcile(
  work: Work,
  scope: string,
  application: string,
  tasks: readonly PeriodicTask[],
  options: ReconcileOptions = {},
): Steps<Reconciliation> {
  checkNames(names, options)
  const { undeclared = 'report' } = options
  checkText('application', application, periodicLimits.nameLength)
  if (undeclared !== 'report' && undeclared !== 'remove') throw invalid('undeclared', undeclared, 'must be report or remove')
  const place = { scope, application }
  const checked = tasks.map(checkPeriodicTask)
  const ids = checked.map(({ id }) => id)
  const twice = ids.find((id, index) => ids.indexOf(id) !== index)
  if (twice !== undefined) throw invalid('id', twice, 'must not be declared twice')
  // Nothing is written before each task was found good. These checks lock nothing, so that the locks keep their order.
  const ready: ReadyTask[] = []
  for (const task of checked) ready.push(yield* findTopic(work, task))
  for (const task of ready) yield* checkStored(work, place, task)
  const result = { added: [] as string[], changed: [] as string[], unchanged: [] as string[] }
  // Timers are locked in one order, so that two nodes that are deployed at the same time do not deadlock.
  for (const id of ids.toSorted()) result[yield* store(work, place, ready[ids.indexOf(id)]!)].push(id)
  const declared = yield* list(work, scope, { application })
  const gone = declared.map(({ id }) => id).filter((id) => !ids.includes(id))
  if (undeclared === 'remove') for (const id of gone) yield* answer(work.timers.remove(work.transaction, { scope, id }))
  return { ...result, undeclared: gone }
}
