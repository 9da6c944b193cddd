/** A process that handles invoices and mails as a user would, and kills itself at an exact moment of a commit. */
import type { Execution } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import { Stream } from 'taskstream'
import { reopenSubject } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { die } from './die.ts'
import { invoice, mail } from './invoices.ts'
import type { Company, InvoiceOrders, Step } from './invoices.ts'
import { watchTransactions } from './watched-transactions.ts'

type JobName = 'invoice' | 'mail'

const { location, death } = JSON.parse(process.argv[2] ?? '{}') as InvoiceOrders
// The process must not outlive its test.
process.on('disconnect', () => process.exit())
const subject = await reopenSubject(location)
const tasks = subject.tasks()
let passes = death?.passes ?? 0
/** The transactions that complete jobs, from their hold on. */
const completing = new WeakMap<object, { readonly name: JobName; readonly company: Company; isCompleted: boolean }>()

function moment(transaction: AnyTransaction, now: Step): void {
  const company = completing.get(watched.connectionOf(transaction))?.company
  if (death?.moment === `${company!}, ${now}` && passes-- === 0) die()
}

const watched = watchTransactions(subject, {
  onBegin: (connection) => void completing.delete(connection),
  onCommitSent: (connection, transaction) => {
    const completed = completing.get(connection)
    if (completed?.isCompleted) moment(transaction, `${completed.name}: the commit is sent`)
  },
})

/** The stream's repository, which also tells at which moment the process is. */
const repository = {
  ...tasks,
  hold: async (...args: Parameters<Tasks['hold']>) => {
    const [transaction, topic, batch] = args
    const holding = await tasks.hold(...args)
    const name = topic as JobName
    const company = [...batch].length > 1 ? 'together' : 'alone'
    completing.set(watched.connectionOf(transaction), { name, company, isCompleted: false })
    // What another process has taken over is not completed here.
    if (holding.held.length > 0) moment(transaction, `${name}: the job is held`)
    return holding
  },
  push: async (...args: Parameters<Tasks['push']>) => {
    const pushed = await tasks.push(...args)
    moment(args[0], 'invoice: the mail is pushed')
    return pushed
  },
  complete: async (...args: Parameters<Tasks['complete']>) => {
    const completion = await tasks.complete(...args)
    const state = completing.get(watched.connectionOf(args[0]))
    if (state) state.isCompleted = true
    moment(args[0], `${args[1] as JobName}: the job is completed`)
    return completion
  },
} as Tasks

async function effect(transaction: AnyTransaction, name: JobName, id: string, attempt: number): Promise<void> {
  await subject.execute(transaction, sql`insert into effect (job, id, attempt) values (${name}, ${id}, ${attempt})`)
  moment(transaction, `${name}: the effect is written`)
}

const stream = new Stream<AnyTransaction, Execution>(
  { repository, transactions: watched.source },
  // A process that waits for its turn on a busy machine has nothing to say.
  { migrate: false, listener: {} },
)
const options = { concurrency: 20, idleMs: 50 }
stream.handle(
  invoice,
  ({ input, attempt, commit, next }) =>
    commit(async (transaction) => {
      await effect(transaction, 'invoice', input, attempt)
      return next(mail, input)
    }),
  options,
)
stream.handle(mail, ({ input, attempt, commit }) => commit((transaction) => effect(transaction, 'mail', input, attempt)), options)
process.send?.({ owner: tasks.owner })
await stream.start()
