/** Handlers that run on take the places of those that would begin. */
import { expect, test } from 'vitest'
import { HungHandlers } from '../../packages/task-processor/src/core/hung-handlers.ts'

test('handlers that run on count as parts of batches, until they end, however they end', async () => {
  let ends = 0
  const hung = new HungHandlers(
    () => 2,
    () => ends++,
  )
  expect([hung.size, hung.batches, hung.isFull]).toEqual([0, 0, false])
  const batch = Promise.withResolvers<void>()
  const tasks = Array.from({ length: 3 }, () => Promise.withResolvers<void>())
  hung.add(batch.promise)
  for (const { promise } of tasks.slice(0, 2)) hung.add(promise, 3)
  expect([hung.size, hung.batches, hung.isFull]).toEqual([3, 1, false])
  hung.add(tasks[2]!.promise, 3)
  expect([hung.size, hung.batches, hung.isFull]).toEqual([4, 2, true])
  batch.reject(new Error('at last'))
  await expect.poll(() => ends).toBe(1)
  expect([hung.size, hung.batches, hung.isFull]).toEqual([3, 1, false])
  expect(hung.toError('mail')).toMatchObject({ code: 'HANDLERS_HUNG', data: { topic: 'mail', hung: 3 } })
  for (const { resolve } of tasks) resolve()
  await expect.poll(() => ends).toBe(4)
  expect([hung.size, hung.batches, hung.isFull]).toEqual([0, 0, false])
})

test('where nobody hangs there is always room', () => {
  expect(
    new HungHandlers(
      () => 0,
      () => {},
    ).isFull,
  ).toBe(false)
})
