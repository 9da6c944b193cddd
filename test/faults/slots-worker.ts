/** A process that handles limited jobs, and kills itself at an exact statement by which it takes slots. */
import type { Execution } from '@taskstream/task-api'
import type { SqlAdapter, Statement } from '@taskstream/task-sql'
import { Stream } from 'taskstream'
import { reopenSubject } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { die } from './die.ts'
import { limited } from './slots.ts'
import type { SlotMoment, SlotOrders } from './slots.ts'
import { watchTransactions } from './watched-transactions.ts'

const { location, death } = JSON.parse(process.argv[2] ?? '{}') as SlotOrders
// The process must not outlive its test.
process.on('disconnect', () => process.exit())
const subject = await reopenSubject(location)
let passes = death?.passes ?? 0
const taking = new WeakSet<object>()

function moment(now: SlotMoment): void {
  if (death?.moment === now && passes-- === 0) die()
}

/** Which step a statement is, by its text. */
function stepOf(text: string): SlotMoment | undefined {
  if (/update \S*task_limit /.test(text)) return 'the limit is locked'
  if (/from \S*task_limit/.test(text) && text.includes('used')) return 'the limit is read'
  if (/select owner, slots/.test(text)) return 'the slots are read'
  if (/(insert|ignore) into \S*task_slot|update \S*task_slot|delete from \S*task_slot where topic/.test(text))
    return 'the slots are written'
  if (/started = /.test(text)) return 'jobs are polled'
  return undefined
}

const watched = watchTransactions(subject, {
  onBegin: (connection) => void taking.delete(connection),
  onCommitSent: (connection) => {
    if (taking.has(connection)) moment('the commit is sent')
  },
})

const telling = (adapter: SqlAdapter<AnyTransaction, Execution>): SqlAdapter<AnyTransaction, Execution> => ({
  ...adapter,
  execute: (transaction: AnyTransaction, statement: Statement, plan?: string) => {
    const step = stepOf(statement.texts.join('?'))
    const answered = <Rows>(rows: Rows): Rows => {
      if (step === 'the slots are written') taking.add(watched.connectionOf(transaction))
      if (step) moment(step)
      return rows
    }
    const rows = adapter.execute(transaction, statement, plan)
    return rows instanceof Promise ? rows.then(answered) : answered(rows)
  },
})

const tasks = subject.tasks({ adapt: telling as never })
const stream = new Stream<AnyTransaction, Execution>(
  { repository: tasks, transactions: watched.source },
  // A process that waits for its turn on a busy machine has nothing to say.
  { migrate: false, listener: {} },
)
stream.handle(limited, ({ commit }) => commit(() => {}), { concurrency: 2, idleMs: 20 })
process.send?.({ owner: tasks.owner })
await stream.start()
