/** A process with a leased and a transactional topic that kills itself at an exact moment. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { TaskNode } from '@taskstream/task-processor'
import type { BatchHandler } from '@taskstream/task-processor'
import { sql } from '@taskstream/task-sql'
import { reopenSubject } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { die } from './die.ts'
import type { Death, DoomedOrders } from './deaths.ts'

const { location, leaseMs, death } = JSON.parse(process.argv[2] ?? '{}') as DoomedOrders
// The process must not outlive its test.
process.on('disconnect', () => process.exit())
const subject = await reopenSubject(location)
let passes = death?.passes ?? 0
/** A transactional topic polls leases at first. Only its polls with the hold `transaction` count here. */
let inTransaction = false

function moment(now: Death): void {
  if (death?.moment !== now || (now.startsWith('transactional') && !inTransaction) || passes-- > 0) return
  die()
}

const tasks = subject.tasks()
/** The node's repository, which also tells at which moment the node is. */
const repository = {
  ...tasks,
  poll: async (...args: Parameters<Tasks['poll']>) => {
    const [, topic, options] = args
    const polled = (await tasks.poll(...args)) as HeldTask[]
    if (topic === 'transactional') inTransaction = options?.hold === 'transaction'
    if (polled.length > 0) moment(topic === 'leased' ? 'leased: tasks are claimed' : 'transactional: tasks are locked')
    return polled
  },
  hold: async (...args: Parameters<Tasks['hold']>) => {
    if (args[1] === 'leased') moment('leased: the completion has begun')
    return tasks.hold(...args)
  },
  complete: async (...args: Parameters<Tasks['complete']>) => {
    const completion = await tasks.complete(...args)
    moment(`${args[1] as 'leased' | 'transactional'}: tasks are completed`)
    return completion
  },
} as Tasks

const handler: BatchHandler<AnyTransaction> = async (_, { complete, topic }) => {
  const mode = topic as 'leased' | 'transactional'
  moment(mode === 'leased' ? 'leased: the poll is committed' : 'transactional: the handler has begun')
  await complete(async (transaction, held) => {
    if (mode === 'leased') moment('leased: tasks are locked')
    for (const { identifier, attempt } of held) {
      await subject.execute(
        transaction,
        sql`insert into effect (topic, identifier, attempt) values (${topic}, ${identifier}, ${attempt})`,
      )
    }
    moment(`${mode}: the effect is written`)
    return new Map(held.map((task) => [task, TaskDecision.success()]))
  })
  moment(`${mode}: the completion is committed`)
}

const node = new TaskNode<AnyTransaction>({
  repository,
  transactions: subject.transactions,
  heartbeatIntervalMs: leaseMs / 10,
  leaseMs,
  maintenanceIntervalMs: leaseMs / 10,
})
node.process('leased', { handler, size: 5, concurrency: 2, idleMs: 200 })
node.process('transactional', {
  mode: 'transactional',
  handler,
  size: 5,
  concurrency: 1,
  idleMs: 200,
  timeoutMs: leaseMs / 2,
  abortMs: leaseMs / 4,
})
await node.start()
