/** Shared by the tests of asyncjobs: handlers for a client, and what its tasks come to. */
import type { AsyncJobs, Task, TaskHandler } from 'taskstream/asyncjobs'
import { expect } from 'vitest'
import type { AnyTransaction } from '../subject.ts'

export type Client = AsyncJobs<AnyTransaction>

/** Pauses that are over at once, and pauses that no test waits for. */
export const soon = { duration: (): number => 1 }
export const never = { duration: (): number => 3_600_000 }

/** Handles the tasks of a client, until its stream ends. */
export async function run(client: Client, handlers: Readonly<Record<string, TaskHandler<AnyTransaction>>>): Promise<void> {
  const router = client.newTaskRouter()
  for (const [type, handler] of Object.entries(handlers)) router.handleFunc(type, handler)
  await client.run(router)
}

/** Waits until a task is in a state, and returns the task as it is then. */
export async function comesTo(client: Client, { id }: Task, state: string): Promise<Task> {
  await expect.poll(async () => (await client.loadTaskById(id)).state, { interval: 10 }).toBe(state)
  return client.loadTaskById(id)
}
