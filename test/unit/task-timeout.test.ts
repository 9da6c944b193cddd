/** The time of a try that was given with its push is a header, which others may have written too. */
import { expect, test } from 'vitest'
import { timeoutOf } from '../../packages/task-jobs/src/definitions/task-timeout.ts'

test('a header is the time of a try only if it is whole milliseconds, up to a day', () => {
  const values = [1, 86_400_000, 0, -1, 1.5, 86_400_001, '5', null, [5]]
  expect(values.map((timeoutMs) => timeoutOf({ headers: { timeoutMs } }))).toEqual([1, 86_400_000, ...Array(7).fill(undefined)])
  expect(timeoutOf({})).toBeUndefined()
})
