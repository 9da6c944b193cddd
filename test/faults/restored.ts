/** A process that has polled thousands of tasks, and a database that becomes another one under it. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TransactionSource } from '@taskstream/task-api'
import { expect } from 'vitest'
import type { AnyTransaction, Tasks } from '../subject.ts'

/** One process: a repository, with all that it remembers, and its connections. */
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

/** Polls and completes, until nothing is found or so many are done. @returns what was polled, in the order of the polls */
export async function work(process: Process, most = Infinity): Promise<string[]> {
  const { tasks, transactions } = process
  // It may be restored as it was before this owner was there.
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

/** Works off all there is, and learns all there is to learn of the topic. */
export async function workOff(process: Process, identifiers: readonly string[]): Promise<void> {
  expect(await work(process)).toEqual(identifiers)
  for (let count = 0; count < 3; count++) expect(await poll(process, 1)).toEqual([])
}

/** What is ready is polled in order, half of it by the process that was there before and the rest by a new one, and nothing twice. */
export async function expectReady(identifiers: readonly string[], living: Process, fresh: Process): Promise<void> {
  const half = Math.ceil(identifiers.length / 2)
  const first = await work(living, half)
  const second = await work(fresh)
  expect({ living: first.length, fresh: second.length }).toEqual({ living: half, fresh: identifiers.length - half })
  expect([...first, ...second]).toEqual(identifiers)
  expect(await work(living)).toEqual([])
}
