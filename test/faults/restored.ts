/** A process that has polled thousands of tasks, and whose database is then replaced by another state. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TransactionSource } from '@taskstream/task-api'
import { expect } from 'vitest'
import type { AnyTransaction, Tasks } from '../subject.ts'

/** One process: its connections, and a repository with everything that it remembers. */
export interface Process {
  readonly tasks: Tasks
  readonly transactions: TransactionSource<AnyTransaction>
}

export const topic = 'work'

export function identifiersOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `t${index}`)
}

export async function prepare({ tasks, transactions }: Process): Promise<void> {
  await transactions(async (transaction) => {
    await tasks.register(transaction)
    await tasks.initialize(transaction, topic)
  })
}

export async function push({ tasks, transactions }: Process, identifiers: readonly string[]): Promise<void> {
  await transactions((transaction) => tasks.push(transaction, topic, identifiers))
}

async function poll({ tasks, transactions }: Process, size: number): Promise<HeldTask[]> {
  return await transactions<HeldTask[]>((transaction) => tasks.poll(transaction, topic, { size }))
}

/** Polls and completes until no task is found or so many are done. @returns the polled identifiers in order */
export async function work(process: Process, most = Infinity): Promise<string[]> {
  const { tasks, transactions } = process
  // The database may be restored to a time before this owner was registered.
  await transactions((transaction) => tasks.register(transaction))
  const done: string[] = []
  while (done.length < most) {
    const batch = await poll(process, Math.min(1_000, most - done.length))
    if (batch.length === 0) break
    done.push(...batch.map(({ identifier }) => identifier))
    await transactions((transaction) =>
      tasks.complete(transaction, topic, new Map(batch.map((task) => [task, TaskDecision.success()]))),
    )
  }
  return done
}

/** Works off all tasks, and polls on until the process has learned that the topic is empty. */
export async function workOff(process: Process, identifiers: readonly string[]): Promise<void> {
  expect(await work(process)).toEqual(identifiers)
  for (let count = 0; count < 3; count++) expect(await poll(process, 1)).toEqual([])
}

/** Expects each task to be polled once and in order, half of them by the old process and the rest by a new one. */
export async function expectReady(identifiers: readonly string[], living: Process, fresh: Process): Promise<void> {
  const half = Math.ceil(identifiers.length / 2)
  const first = await work(living, half)
  const second = await work(fresh)
  expect({ living: first.length, fresh: second.length }).toEqual({ living: half, fresh: identifiers.length - half })
  expect([...first, ...second]).toEqual(identifiers)
  expect(await work(living)).toEqual([])
}
