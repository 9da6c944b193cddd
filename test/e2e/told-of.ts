/** A process with a node that holds a task, for tests that look at processes. It ends by being killed, or in order when it is told to. */
import { once } from 'node:events'
import { eachTask, TaskNode } from '@taskstream/task-processor'
import { reopenSubject } from '../subject.ts'
import type { Subject } from '../subject.ts'

const [, , at = '{}', topic = '', owner = ''] = process.argv
// The process must not outlive its test.
process.on('disconnect', () => process.exit())
const subject = await reopenSubject(JSON.parse(at) as Subject['location'])
const repository = subject.tasks({ owner })
const node = new TaskNode({ repository, transactions: subject.transactions, leaseMs: 20_000 })
node.process(topic, {
  size: 3,
  concurrency: 1,
  handler: eachTask(async () => {
    process.send?.(repository.owner)
    await once(process, 'message')
  }),
})
await node.start()
