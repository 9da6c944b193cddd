/** A process that handles what is pushed until it is told to stop, and tells how it is when it is asked. */
import { TaskDecision } from '@taskstream/task-api'
import { TaskNode } from '@taskstream/task-processor'
import { reopenSubject } from '../../test/subject.ts'
import type { AnyTransaction, Subject } from '../../test/subject.ts'
import { retainMs, topics } from './setting.ts'
import type { WorkerSample } from './setting.ts'

const subject = await reopenSubject(JSON.parse(process.argv[2] ?? '{}') as Subject['location'])
// The process must not outlive its run.
process.on('disconnect', () => process.exit())
let latenciesMs: number[] = []
let errors = 0
const node = new TaskNode<AnyTransaction>({
  repository: subject.tasks(),
  transactions: subject.transactions,
  listener: { onError: () => void errors++ },
})
for (const { name, options } of topics)
  node.process(name, {
    ...options,
    retainMs: { succeeded: retainMs },
    idleMs: 200,
    handler: async (batch, { complete }) => {
      await complete(() => new Map(batch.map((task) => [task, TaskDecision.success()])))
      const now = Date.now()
      for (const { input } of batch) latenciesMs.push(now - Number(input))
    },
  })
await node.start()
process.on('message', (message: 'sample' | 'stop') => {
  if (message === 'stop') return void node.stop().then(() => process.exit())
  const { rss, heapUsed } = process.memoryUsage()
  const handles = process.getActiveResourcesInfo().length
  process.send?.({ rss, heapUsed, handles, latenciesMs, errors } satisfies WorkerSample)
  latenciesMs = []
})
process.send?.('started')
