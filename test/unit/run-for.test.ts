/** A run for a while ends in time, whatever the database answers. */
import { TaskError } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { isDoneWithin } from '../../packages/taskstream/src/run-for.ts'

const isDone = (transactions: TransactionSource<object>): Promise<boolean> =>
  isDoneWithin(
    {
      node: { isIdle: true, wake: () => {} },
      tasks: { promoteDue: () => Promise.resolve({ promoted: 0 }) },
      transactions,
      timers: { dueMs: () => Promise.resolve(Infinity) },
      topics: new Set(['mail']),
    },
    100,
  )

test('is done if nothing is left', async () => {
  expect(await isDone(async (work) => work({}))).toBe(true)
})

test('is not done if the database is silent, or away', async () => {
  expect(await isDone(() => new Promise(() => {}))).toBe(false)
  expect(await isDone(() => Promise.reject(new TaskError('DATABASE_UNAVAILABLE', 'gone')))).toBe(false)
})

test('throws what will not pass by itself', async () => {
  await expect(isDone(() => Promise.reject(new TaskError('PERMISSION_DENIED', 'no')))).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
  })
})
