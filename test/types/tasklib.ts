/** The types of functions as tasks: what a submission gives, and what the function gets. */
import { taskstream } from 'taskstream/node-sqlite'
import { taskLib } from 'taskstream/tasklib'
import type { TaskContext } from 'taskstream/tasklib'
import { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'

const stream = taskstream(new DatabaseSync(':memory:'))
const lib = taskLib(stream, { maxRetries: 5 })

const kwargs = z.object({ to: z.string(), subject: z.string().default('Hello') })
const send = lib.task({ kwargs, maxRetries: 1 }, ({ to, subject }, { signal }) => {
  to satisfies string
  subject satisfies string
  signal.throwIfAborted()
  return to.length
})
const add = lib.task(({ a, b }: { a: number; b: number }) => a + b)
const named = lib.task({ name: 'named' }, async ({ a }: { a: number }, context: TaskContext) => [a, context.retryCount])
const nothing = lib.task(function nothing() {})

export async function rightUse(): Promise<void> {
  // A default of the schema need not be given, and the function is what it was.
  ;(await lib.submitTask(send, {}, { to: 'a' })) satisfies string
  await lib.submitTask(send, { priority: 1, tags: { tenant: 7 } }, { to: 'a', subject: 'b' })
  send({ to: 'a', subject: 'b' }, {} as TaskContext) satisfies number
  await lib.submitTask(add, {}, { a: 1, b: 2 })
  await lib.submitTask(named, { delaySeconds: 1 }, { a: 1 })
  await lib.submitTask(nothing)
  await lib.submitTask(nothing, { maxRetries: 0 })
  await stream.submit(lib.jobOf(send), { to: 'a' }, { deadlineMs: 1_000 })
  await stream.submit(lib.jobOf(nothing), {})
  const task = await lib.getTask('x')
  if (task?.hasResult) task.result?.value satisfies unknown
}

export async function mistakes(): Promise<void> {
  // @ts-expect-error no arguments
  await lib.submitTask(send)
  // @ts-expect-error an argument is missing
  await lib.submitTask(send, {}, {})
  // @ts-expect-error an argument of another type
  await lib.submitTask(add, {}, { a: 1, b: '2' })
  // @ts-expect-error an argument that nobody asked for
  await lib.submitTask(add, {}, { a: 1, b: 2, c: 3 })
  // @ts-expect-error arguments for a function that takes none
  await lib.submitTask(nothing, {}, { a: 1 })
  // @ts-expect-error an option that there is not
  await lib.submitTask(nothing, { delayMs: 1 })
  // @ts-expect-error what the schema makes is not what the function takes
  lib.task({ kwargs }, ({ to }: { to: number }) => to)
  // @ts-expect-error the job takes what the task takes
  await stream.submit(lib.jobOf(add), { a: 1 })
  // @ts-expect-error a state that there is not
  await lib.listTasks({ state: 'done' })
}
