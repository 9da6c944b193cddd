/** A filter that means nothing is refused before it is asked of a database, by what of it is wrong. */
import { checkFilter } from '@taskstream/task-api'
import type { TaskError, TaskFilter } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'

const refused = (filter: object): unknown => {
  try {
    checkFilter(filter as TaskFilter)
  } catch (error) {
    return (error as TaskError).data['argument']
  }
  return undefined
}
const [earlier, later] = [new Date(1_000), new Date(1_001)]

describe('a filter', () => {
  test.each<TaskFilter>([
    {},
    { states: [] },
    { states: ['ready', 'delayed'] },
    { reason: 'lease' },
    { identifier: '', reference: '' },
    { identifier: 'x'.repeat(500), reference: 'x'.repeat(500) },
    { from: 0, to: 0 },
    { from: 0, to: Number.MAX_SAFE_INTEGER },
    { from: 7, to: 7 },
    { to: 0 },
    { createdFrom: earlier, createdBefore: earlier, completedFrom: earlier, completedBefore: earlier },
    { createdFrom: later, completedBefore: earlier },
    { createdBefore: earlier, completedFrom: later },
    { createdFrom: earlier, createdBefore: later },
  ])('is taken: %o', (filter) => {
    expect(refused(filter)).toBeUndefined()
  })

  test.each([
    ['states', { states: 'ready' }],
    ['states', { states: new Set(['ready']) }],
    ['states', { states: ['ready', 'unready'] }],
    ['reason', { reason: 'whim' }],
    ['identifier', { identifier: 'x'.repeat(501) }],
    ['identifier', { identifier: 7 }],
    ['reference', { reference: 'a\0' }],
    ['from', { from: -1 }],
    ['from', { from: 0.5 }],
    ['to', { to: -1 }],
    ['to', { to: 2 ** 53 }],
    ['from', { from: 8, to: 7 }],
    ['createdFrom', { createdFrom: 5 }],
    ['createdBefore', { createdBefore: new Date(Number.NaN) }],
    ['completedFrom', { completedFrom: '2026-01-01' }],
    ['completedBefore', { completedBefore: null }],
    ['changedBefore', { changedBefore: 'now' }],
    ['createdFrom', { createdFrom: later, createdBefore: earlier }],
    ['completedFrom', { completedFrom: later, completedBefore: earlier }],
  ])('is refused for its %s: %o', (argument, filter) => {
    expect(refused(filter)).toBe(argument)
  })
})
