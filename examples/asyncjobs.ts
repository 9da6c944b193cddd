import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { asyncJobs, newTask, TerminateTaskError } from 'taskstream/asyncjobs'
import { taskstream } from 'taskstream/node-sqlite'

const stream = taskstream(new DatabaseSync(':memory:'), { listener: {} })
const client = asyncJobs(stream, { queue: { name: 'EMAIL', maxTries: 5, maxRunMs: 30_000 }, retryPolicy: '1m' })

const ann = await client.enqueueTask(newTask('email:new', { to: 'ann' }))
const lost = await client.enqueueTask(newTask('email:new', { to: 'nobody' }, { maxTries: 3 }))
const report = await client.enqueueTask(newTask('report', null, { dependsOn: [ann], requiresDependencyResults: true }))
const never = await client.enqueueTask(newTask('report', null, { dependsOn: [ann, lost] }))

let handled = 0
const router = client.newTaskRouter()
router.use((next) => (task, context) => {
  handled++
  return next(task, context)
})
router.handleFunc('email', (task, { signal }) => {
  signal.throwIfAborted()
  const { to } = task.json<{ to: string }>()!
  if (to === 'nobody') throw new Error('no such address', { cause: new TerminateTaskError() })
  return `sent to ${to}`
})
router.handleFunc('report', (task) => Object.values(task.dependencyResults ?? {}).map(({ payload }) => payload))

client.schedules.handle()
await client.run(router, { stopOn: ['SIGTERM', 'SIGINT'] })

await client.schedules.newScheduledTask('nightly', '30 2 * * *', 'EMAIL', 'report', null, { deadlineMs: 3_600_000 })
const scheduler = client.schedules.newTaskScheduler()
await scheduler.start()

const ended = new Set(['complete', 'expired', 'terminated', 'unreachable'])
for (const { id } of [ann, lost, report, never]) {
  while (!ended.has((await client.loadTaskById(id)).state)) await setTimeout(10)
  const { type, state, result, lastErr } = await client.loadTaskById(id)
  console.log(type, state, result?.payload ?? lastErr.replace(/@.*/, ''))
}
console.log(handled, 'handled')

await scheduler.stop()
await stream.stop()
