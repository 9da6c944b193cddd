import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { bound, buffering, eachTask, TaskNode } from '@taskstream/task-processor'
import type { Decisions, TaskListener } from '@taskstream/task-processor'
import { testTasks } from '@taskstream/task-testing'

const send = async (address: string, { signal }: { signal: AbortSignal }): Promise<void> => {
  signal.throwIfAborted()
  console.log(`sending to ${address}`)
}
const sendAll = async (addresses: readonly string[]): Promise<ReadonlySet<string>> =>
  new Set(addresses.filter((one) => one.includes('@')))

const sendOne = eachTask(async ({ input }, { signal }) => {
  if (!input) return TaskDecision.filter('no address')
  await send(input, { signal })
  return TaskDecision.success(`sent to ${input}`)
})

const sendBatch = async (batch: readonly HeldTask[]): Promise<Decisions> => {
  const sent = await sendAll(batch.map(({ input = '' }) => input))
  return new Map(
    batch.map((task) => [
      task,
      sent.has(task.input ?? '') ? TaskDecision.success() : TaskDecision.failure('refused by the mail server'),
    ]),
  )
}

const counts = { succeeded: 0, failed: 0, retried: 0 }
const listener: TaskListener = {
  onComplete: ({ outcomes }) => {
    counts.succeeded += outcomes.success + outcomes.filter
    counts.failed += outcomes.failure
    counts.retried += outcomes.retry
  },
  onError: ({ activity, topic, error }) => console.error(activity, topic, error),
}

await using tasks = await testTasks({ topics: ['mail', 'newsletter', 'reports'] })
await tasks.push('mail', { identifier: 'inv-1', input: 'a@example.org' }, 'inv-2')
await tasks.push('newsletter', { identifier: 'ada', input: 'ada@example.org' }, { identifier: 'bob', input: 'nowhere' })
await tasks.push('reports', 'monthly')

const node = new TaskNode({ repository: tasks.repository, transactions: tasks.transactions, listener, limiter: bound(4) })
node.process('mail', { handler: sendOne })
node.process('newsletter', { handler: buffering({ buffer: 2, workers: 3, handler: sendBatch }), size: 500 })
await node.start()

for await (const batch of node.stream('reports', { size: 10 })) {
  await batch.complete(new Map(batch.tasks.map((task) => [task, TaskDecision.success('written')])))
  break
}
while (counts.succeeded + counts.failed < 5) await new Promise((resolve) => setImmediate(resolve))
await node.stop()
console.log(counts)
