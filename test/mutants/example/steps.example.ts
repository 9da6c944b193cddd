/** Tests that notice some mutants of steps.ts, for test/unit/mutants.test.ts. */
import { expect, test } from 'vitest'
import { atMost, label, stepsTo, unit } from './steps.ts'

test('a value is at most what it may be', () => {
  expect(atMost(3, 2)).toBe(2)
  expect(atMost(1, 2)).toBe(1)
})

test('steps are counted', () => {
  expect(`${stepsTo(3)} ${unit}`).toBe('3 steps')
})

test('a label is a text', () => {
  expect(label()).toBeTypeOf('string')
})

test('a label is this one', () => {
  expect(label()).toBe('label')
})
