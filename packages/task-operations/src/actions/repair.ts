/** Repairs a topic, in one transaction with the record of it. */
import type { Repair } from '@taskstream/task-api'
import { byOf } from './operator.ts'
import type { Operator } from './operator.ts'

/**
 * Corrects what a restore, or rows written by hand, left wrong in a topic. Only a repair that has changed anything is recorded.
 *
 * @returns what was wrong, and the id of the action
 * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
 */
export async function repairTopic(operator: Operator, topic: string): Promise<Repair & { readonly id?: string }> {
  const { tasks, transactions } = operator
  return await transactions(async (transaction): Promise<Repair & { readonly id?: string }> => {
    const done = (await tasks.repair(transaction, topic)) as Repair
    const { corrected, listed, noted, held, sequence } = done
    if (corrected + listed + noted + held === 0 && sequence === 'ahead') return done
    const id: string = await tasks.record(transaction, { action: 'repair', topic, count: corrected, ...byOf(operator) })
    return { ...done, id }
  })
}
