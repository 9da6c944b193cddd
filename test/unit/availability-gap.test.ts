import { expect, test } from 'vitest'
import { longestGap } from '../availability/gap.ts'

test('the longest time without an event is found in a window, and reaches to the events around it', () => {
  const moments = [30, 0, 10, 90, 100, 400]
  expect(longestGap(moments, 20, 95)).toBe(60)
  expect(longestGap(moments, 40, 50)).toBe(60)
  expect(longestGap(moments, 95, 99)).toBe(10)
  expect(longestGap(moments, 95, 200)).toBe(300)
  expect(longestGap([], 0, 10)).toBe(0)
})
