/** What tests of rights do and read. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import type { Subject, Tasks } from '../subject.ts'

/** Splits `select, insert on taskstream.task` into its privileges and what they are on. */
export function partsOf(right: string): { privileges: string[]; on: string } {
  const [privileges = '', on = ''] = right.split(' on ')
  return { privileges: privileges.toLowerCase().split(', '), on }
}

/** What a worker does in a topic that keeps outcomes. */
export async function workByRanges({ transactions: commit }: Subject, tasks: Tasks): Promise<void> {
  const topic = 'of everything, outcomes'
  await commit((transaction) => tasks.initialize(transaction, topic, { record: 'outcomes' }))
  for (const identifier of ['a', 'b', 'c']) {
    await commit((transaction) => tasks.push(transaction, topic, identifier))
    const batch = await commit<HeldTask[]>((transaction) => tasks.poll(transaction, topic))
    await commit((transaction) =>
      tasks.complete(transaction, topic, new Map(batch.map((task) => [task, TaskDecision.success()]))),
    )
  }
  // The first ends the ranges, of which an expiry makes one.
  await commit((transaction) => tasks.poll(transaction, topic))
  await commit((transaction) => tasks.expire(transaction, { olderThanMs: 60_000, then: 'ready' }))
  await commit((transaction) => tasks.repair(transaction, topic))
  await commit((transaction) => tasks.destroy(transaction, topic))
}
