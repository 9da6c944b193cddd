/** States are stored as numbers that never change. */
import { isCompleted, stateNumber, stateOf, taskReasons, taskResults, taskStates } from '@taskstream/task-api'
import { expect, test } from 'vitest'

test('states are stored as these numbers, for ever', () => {
  expect(taskStates.map((state) => [stateNumber(state), state])).toEqual([
    [0, 'active'],
    [1, 'ready'],
    [2, 'expired'],
    [3, 'failed'],
    [4, 'suspended'],
    [5, 'filtered'],
    [6, 'succeeded'],
    [7, 'recreated'],
    [8, 'redundant'],
  ])
  expect(taskReasons.slice(0, 7)).toEqual(['deadline', 'tries', 'terminated', 'unreachable', 'cancelled', 'timeout', 'lease'])
})

test('a result is stored as the state three above it', () => {
  expect(taskResults.map((result, index) => [stateNumber(stateOf(result)) - index, isCompleted(stateOf(result))])).toEqual([
    [3, true],
    [3, true],
    [3, true],
    [3, true],
  ])
  expect(taskStates.filter(isCompleted)).toEqual(['failed', 'suspended', 'filtered', 'succeeded'])
})
