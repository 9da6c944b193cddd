/** A process with a node whose handler never ends, for tests that ask the process to end. */
import type { Task } from '@taskstream/task-api'
import { eachTask, stopOnSignal, TaskNode } from '@taskstream/task-processor'
import { reopenSubject } from '../subject.ts'
import type { Subject } from '../subject.ts'

const [, , at = '{}', topic = ''] = process.argv
const subject = await reopenSubject(JSON.parse(at) as Subject['location'])
const node = new TaskNode({ repository: subject.tasks(), transactions: subject.transactions })
node.process(topic, {
  handler: eachTask(async () => {
    process.send?.('holds')
    await new Promise(() => {})
  }),
})
await node.start()
const names = (tasks: readonly Task[]): string[] => tasks.map(({ identifier }) => identifier)
stopOnSignal(node, {
  graceMs: 10,
  abortMs: 10,
  onStopped: ({ finished, returned, abandoned }) => {
    process.send?.({ finished: names(finished), returned: names(returned), abandoned: names(abandoned) })
    void subject[Symbol.asyncDispose]().then(() => process.disconnect())
  },
})
