import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { taskstream } from 'taskstream/node-sqlite'
import { taskLib, TaskWorker } from 'taskstream/tasklib'
import { z } from 'zod'

const stream = taskstream(new DatabaseSync(':memory:'), { listener: {} })
const lib = taskLib(stream, { maxRetries: 2, baseRetryDelaySeconds: 0.01 })

const kwargs = z.object({ to: z.string(), subject: z.string().default('Hello') })
const sendEmail = lib.task({ kwargs, timeoutSeconds: 30, name: 'sendEmail' }, ({ to, subject }, { signal }) => {
  signal.throwIfAborted()
  if (to === 'nobody') throw new Error('no such address')
  return `${subject}, ${to}`
})

await lib.init()
const sent = await lib.submitTask(sendEmail, { priority: 5, tags: { tenant: 7 } }, { to: 'ann' })
const lost = await lib.submitTask(sendEmail, {}, { to: 'nobody' })

const worker = new TaskWorker(lib, { concurrency: 4 })
const running = worker.run({ stopOn: ['SIGTERM', 'SIGINT'] })

const idOfReminder = await stream.transaction((tx) => {
  const reminder = stream.push(tx, lib.jobOf(sendEmail), { to: 'bob' }, { delayMs: 86_400_000 })
  stream.cancel(tx, lib.jobOf(sendEmail), reminder)
  return reminder.id
})

while (!(await lib.getTask(lost))?.isTerminal) await setTimeout(10)
for (const id of [sent, lost, idOfReminder]) {
  const { state, result, error, retryCount } = (await lib.getTask(id))!
  console.log(state, result?.value ?? error?.split('\n')[0], retryCount)
}
console.log((await lib.listTasks({ state: 'failed', tags: { tenant: 7 } })).length, 'failed of tenant 7')

await worker.shutdown()
await running
