/** A process that handles submitted jobs, and is not told of each fifth commit. A job fails on as many tries as its number says. */
import type { Execution } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import { Stream } from 'taskstream'
import { reopenSubject } from '../subject.ts'
import type { AnyTransaction, Subject, Tasks } from '../subject.ts'
import { failuresOf, order } from './submitted.ts'
import { unsure } from './unsure.ts'

const { location } = JSON.parse(process.argv[2] ?? '{}') as Pick<Subject, 'location'>
// The process must not outlive its test.
process.on('disconnect', () => process.exit())
const subject = await reopenSubject(location)
const tasks = subject.tasks()
/** The transactions that commit what a handler has written, from their hold on. */
const committing = new WeakSet<object>()
let commits = 0
const repository = {
  ...tasks,
  hold: async (...args: Parameters<Tasks['hold']>) => {
    committing.add(args[0] as object)
    return tasks.hold(...args)
  },
} as Tasks
const transactions = unsure(subject.transactions, {
  onBegin: (transaction) => void committing.delete(transaction as object),
  onCommitted: (transaction) => {
    const isUnanswered = committing.has(transaction as object) && commits++ % 5 === 0
    if (isUnanswered) process.send?.('unanswered')
    return isUnanswered
  },
})
const stream = new Stream<AnyTransaction, Execution>(
  { repository, transactions },
  // The errors are ordered ones.
  { migrate: false, listener: {} },
)
stream.handle(
  order,
  ({ input, id, tries, commit }) => {
    const fails = tries <= failuresOf(input)
    // One half of the failures comes before the commit. The other half comes after its effect, which is then undone.
    if (fails && (input + tries) % 2 === 0) throw new Error('the handler fails')
    return commit(async (transaction) => {
      await subject.execute(transaction, sql`insert into effect (id, tries) values (${id}, ${tries})`)
      if (fails) throw new Error('the commit fails')
    })
  },
  { concurrency: 20, idleMs: 50 },
)
await stream.start()
process.send?.('ready')
