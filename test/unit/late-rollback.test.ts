/** What becomes of a transaction whose rollback is not answered. */
import { setTimeout } from 'node:timers/promises'
import { pgTransactions } from '@taskstream/task-sql/pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A pool whose connections answer everything but a rollback. */
function poolOf(): { readonly pool: { connect(): Promise<never> }; readonly released: unknown[] } {
  const released: unknown[] = []
  const client = {
    query: (text: string) => (text === 'rollback' ? new Promise(() => {}) : Promise.resolve({ rows: [], command: '' })),
    release: (error: unknown) => void released.push(error),
    on: () => {},
    off: () => {},
  }
  return { pool: { connect: () => Promise.resolve(client as never) }, released }
}

test.each([
  ['is closed with the error of the caller, whose work is not run again', new Error('too late for me'), 1],
  [
    'is closed, and the work is run again if the error is that of a connection',
    Object.assign(new Error('gone'), { code: '57P01' }),
    4,
  ],
])('a connection that does not answer a rollback %s', async (_, error, runs) => {
  const { pool, released } = poolOf()
  let ran = 0
  const failed = pgTransactions(pool as never)(() => {
    ran++
    throw error
  }).catch((thrown: unknown) => thrown)
  const over = failed.then(() => true)
  // The pauses between two runs are not of the test's clock.
  for (let isOver = false; !isOver; isOver = await Promise.race([over, setTimeout(1, false)]))
    await vi.advanceTimersByTimeAsync(1_000)
  expect(await failed).toBe(error)
  expect([ran, released.length]).toEqual([runs, runs])
  expect(released[0]).toMatchObject({ message: 'The database has not answered for 10000 ms' })
})
