/** Pushes tasks for an operator. */
import type { PushedTask, TaskCreation } from '@taskstream/task-api'
import { rangesOf } from './former.ts'
import { byOf } from './operator.ts'
import type { Operator } from './operator.ts'
import { rolledBack } from './rolled-back.ts'

export interface Pushed {
  /** The id of the action, for `undo`. Undefined if no task was created. */
  readonly id?: string
  readonly tasks: readonly PushedTask[]
}

/**
 * Pushes tasks, in one transaction with its record.
 *
 * @param creations 1 to 1,000 of them
 * @param dryRun whether the push is rolled back: it tells what would be created. The sequences of a dry run are given to nobody. Default false
 * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN, TOPIC_FULL
 * @example
 * const { id } = await push(operator, 'invoices', [{ identifier: 'inv-7' }])
 */
export async function push(
  operator: Operator,
  topic: string,
  creations: readonly TaskCreation[],
  dryRun = false,
): Promise<Pushed> {
  const { tasks, transactions } = operator
  const create = async (transaction: unknown): Promise<readonly PushedTask[]> =>
    (await tasks.push(transaction, topic, creations)) as readonly PushedTask[]
  if (dryRun) return { tasks: await rolledBack(transactions, create) }
  return await transactions(async (transaction): Promise<Pushed> => {
    const pushed = await create(transaction)
    const created = pushed.filter(({ outcome }) => outcome !== 'duplicate').map(({ sequence }) => sequence)
    if (created.length === 0) return { tasks: pushed }
    const id: string = await tasks.record(transaction, {
      action: 'push',
      topic,
      count: created.length,
      sequences: rangesOf(created.toSorted((left, right) => left - right)),
      ...byOf(operator),
    })
    return { id, tasks: pushed }
  })
}
