/** Libraries of functions as tasks on the engine under test, each with a queue of its own. */
import type { Execution } from '@taskstream/task-api'
import { taskLib, TaskWorker } from 'taskstream/tasklib'
import type { TaskLib, TaskLibOptions, TaskLibTask } from 'taskstream/tasklib'
import { expect } from 'vitest'
import type { AnyTransaction } from '../subject.ts'
import type { TestStream } from './job-fixture.ts'

export type Lib = TaskLib<AnyTransaction, Execution>

let count = 0

/** A library whose retries come at once. */
export function libOf(stream: TestStream, options: TaskLibOptions = {}): Lib {
  return taskLib(stream, { queue: `tasklib-${count++}`, baseRetryDelaySeconds: 0, ...options })
}

/** Runs a worker while something is done. */
export async function working(lib: Lib, work: () => Promise<void>, concurrency = 1): Promise<void> {
  const worker = new TaskWorker(lib, { concurrency, pollIntervalSeconds: 0.01 })
  const running = worker.run()
  running.catch(() => {})
  try {
    await work()
  } finally {
    await worker.shutdown()
  }
  await running
}

export async function get(lib: Lib, id: string): Promise<TaskLibTask> {
  return (await lib.getTask(id))!
}

/** The task, once nothing more happens to it. */
export async function ended(lib: Lib, id: string): Promise<TaskLibTask> {
  await expect.poll(async () => (await get(lib, id)).isTerminal).toBe(true)
  return get(lib, id)
}
