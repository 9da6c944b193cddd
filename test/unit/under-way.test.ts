/** Verbs of one transaction: their turns, and the work that calls them. */
import { AsyncResource } from 'node:async_hooks'
import { setTimeout } from 'node:timers/promises'
import { TaskError } from '@taskstream/task-api'
import { codeOf } from '@taskstream/task-testing/suite'
import { expect, test } from 'vitest'
import { asWork, checkWork, inTurn, untilAtRest, untilSettled } from '../../packages/task-sql/src/core/under-way.ts'

const conflict = new TaskError('TRANSACTION_CONFLICT', 'a deadlock')

test('after a conflict, no verb that waits for its turn runs: the server may have ended the transaction', async () => {
  const connection = {}
  const ran: string[] = []
  const verb = (name: string, error?: Error) => (): Promise<string> => {
    ran.push(name)
    return error ? Promise.reject(error) : Promise.resolve(name)
  }
  const ends = await Promise.allSettled([
    inTurn(connection, verb('a')),
    inTurn(connection, verb('b', conflict)),
    inTurn(connection, verb('c')),
  ])
  expect([ends.map(({ status }) => status), ran]).toEqual([
    ['fulfilled', 'rejected', 'rejected'],
    ['a', 'b'],
  ])
  // Whoever rolls back begins anew, on the same connection.
  expect(await inTurn(connection, verb('d'))).toBe('d')
})

test('another error leaves the others their turns, as its caller may have caught it', async () => {
  const connection = {}
  const first = inTurn(connection, () => Promise.reject(new Error('no'))).catch(() => 'caught')
  expect(await Promise.all([first, inTurn(connection, () => Promise.resolve('b'))])).toEqual(['caught', 'b'])
})

test('work is waited for with what its helpers call next', async () => {
  const connection = {}
  const ran: string[] = []
  const verb = (name: string): Promise<void> => inTurn(connection, async () => void (await setTimeout(1), ran.push(name)))
  const helper = async (): Promise<void> => {
    await verb('a')
    await verb('b')
  }
  await untilSettled(connection, () => void helper())
  expect(ran).toEqual(['a', 'b'])
})

test('a part of a handler that runs in a transaction of others belongs to its work', async () => {
  const connection = {}
  const handler = new AsyncResource('handler')
  let after = (): void => {}
  await untilSettled(connection, () => {
    handler.runInAsyncScope(() => asWork(connection, () => void (after = AsyncResource.bind(() => checkWork(connection)))))
  })
  expect(await codeOf(async () => after())).toBe('TRANSACTION_CLOSED')
})

test('whoever begins a transaction by himself on a connection that was used before is not refused', async () => {
  const connection = {}
  await untilSettled(connection, () => {})
  checkWork(connection)
  expect(await inTurn(connection, () => Promise.resolve('a'))).toBe('a')
})

test('a transaction that begins within the work of another keeps both apart', async () => {
  const [outer, inner] = [{}, {}]
  await untilSettled(outer, async () => {
    await expect(untilSettled(inner, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    checkWork(inner)
    checkWork(outer)
  })
})

test('transactions that each begin the next one keep none of those before', async () => {
  const connection = {}
  const collected: WeakRef<object>[] = []
  const next = async (count: number): Promise<void> => {
    if (count === 0) return
    const own = {}
    collected.push(new WeakRef(own))
    await new Promise<void>((resolve) => {
      void untilSettled(own, () => void setImmediate(() => resolve(next(count - 1))))
    })
  }
  await untilSettled(connection, () => next(20))
  await setTimeout(0)
  globalThis.gc?.()
  if (globalThis.gc) expect(collected.filter((each) => each.deref()).length).toBeLessThan(5)
})

test('abandoned work is not waited for, as its connection is closed', async () => {
  const connection = {}
  const { promise, resolve } = Promise.withResolvers<void>()
  const hanging = inTurn(connection, () => promise)
  await untilAtRest(connection, new TaskError('TRANSACTION_ABANDONED', 'left'))
  resolve()
  await hanging
})
