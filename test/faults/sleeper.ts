/** Polls, waits for a message, and then completes the tasks that it believes to hold. */
import { once } from 'node:events'
import { TaskDecision } from '@taskstream/task-api'
import type { Completion, HeldTask, Holding } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import { reopenSubject } from '../subject.ts'
import type { Subject } from '../subject.ts'

const location = JSON.parse(process.argv[2] ?? '{}') as Subject['location']
const subject = await reopenSubject(location)
const tasks = subject.tasks()
const batch = await subject.transactions<HeldTask[]>(async (transaction) => {
  await tasks.register(transaction)
  return tasks.poll(transaction, 'work', { size: 2 })
})
process.send?.({ owner: tasks.owner, holds: batch.length })
await once(process, 'message')

const { held, lost } = await subject.transactions<Holding>(async (transaction) => {
  const holding = (await tasks.hold(transaction, 'work', batch)) as Holding
  for (const { identifier } of holding.held)
    await subject.execute(transaction, sql`insert into effect (identifier) values (${identifier})`)
  return holding
})
// It completes the tasks a second time, without holding them first.
const decisions = new Map(batch.map((task) => [task, TaskDecision.success('late')]))
const completion = await subject.transactions<Completion>((transaction) => tasks.complete(transaction, 'work', decisions))
process.send?.({ held: held.length, lost: lost.length, completed: completion.completed.length, refused: completion.lost.length })
await subject[Symbol.asyncDispose]()
process.disconnect()
