/** A process that settles a topic once, and kills itself after a given statement, or when the commit is sent. */
import type { Execution } from '@taskstream/task-api'
import type { SqlAdapter, Statement } from '@taskstream/task-sql'
import { reopenSubject } from '../subject.ts'
import type { AnyTransaction, Subject } from '../subject.ts'
import { die } from './die.ts'
import { watchTransactions } from './watched-transactions.ts'

export interface SettlerOrders {
  readonly location: Subject['location']
  readonly topic: string
  /** After how many statements it dies; 0 when the commit is sent. */
  readonly diesAfter: number
}

const { location, topic, diesAfter } = JSON.parse(process.argv[2] ?? '{}') as SettlerOrders
process.on('disconnect', () => process.exit())
const subject = await reopenSubject(location)
const watched = watchTransactions(subject, {
  onBegin: () => {},
  onCommitSent: () => {
    if (diesAfter === 0) die()
  },
})
let statements = 0
const answered = <Rows>(rows: Rows): Rows => {
  if (++statements === diesAfter) die()
  return rows
}
const counting = (adapter: SqlAdapter<AnyTransaction, Execution>): SqlAdapter<AnyTransaction, Execution> => ({
  ...adapter,
  execute: (transaction: AnyTransaction, statement: Statement, plan?: string) => {
    const rows = adapter.execute(transaction, statement, plan)
    return rows instanceof Promise ? rows.then(answered) : answered(rows)
  },
})
const tasks = subject.tasks({ adapt: counting as never })
await watched.source((transaction) => tasks.settle(transaction, topic))
await subject[Symbol.asyncDispose]()
process.disconnect?.()
