/** A process that is stopped while a transaction handles its job, and tells what becomes of the transaction. */
import { once } from 'node:events'
import type { Execution } from '@taskstream/task-api'
import { Stream } from 'taskstream'
import { reopenSubject } from '../subject.ts'
import type { AnyTransaction, Subject } from '../subject.ts'
import { slept, sleptTimes } from './slots.ts'

const location = JSON.parse(process.argv[2] ?? '{}') as Subject['location']
// The process must not outlive its test.
process.on('disconnect', () => process.exit())
const subject = await reopenSubject(location)
const tell = (what: string): void => void process.send?.(what)
const stream = new Stream<AnyTransaction, Execution>(
  { repository: subject.tasks(), transactions: subject.transactions },
  {
    ...sleptTimes,
    listener: {
      onComplete: ({ tasks }) => tasks.length > 0 && tell('completed'),
      onReturned: () => tell('returned'),
      onLeaseLost: () => tell('lost'),
    },
  },
)
let count = 0
stream.handle(
  slept,
  async () => {
    // After a start the first job is handled by a lease.
    if (count++ === 0) return
    tell('handles')
    await once(process, 'message')
  },
  { mode: 'transactional', concurrency: 1, idleMs: 20 },
)
await stream.start()
