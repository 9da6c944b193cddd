/** Which tasks an action means, and how what they were before is kept in few characters. */
import { filterStates, taskReasons } from '@taskstream/task-api'
import type { FilterState, FormerTask, LeftTasks } from '@taskstream/task-api'
import { codeOf } from '@taskstream/task-testing/suite'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { packed, rangesOf, sequencesIn, unpacked } from '../../packages/task-operations/src/actions/former.ts'
import { chosenOf, filterOf } from '../../packages/task-operations/src/actions/request.ts'
import type { ActionName, ActionRequest } from '../../packages/task-operations/src/actions/request.ts'

const requestOf = (action: ActionName, more: object = {}): ActionRequest =>
  ({ action, topic: 't', ...(action === 'reschedule' && { to: { delayMs: 5 } }), ...more }) as unknown as ActionRequest

const redo = { result: 'failure' } as const

describe('an action', () => {
  test.each<[ActionName, string, string, string]>([
    [
      'redrive',
      'delayed expired failed filtered succeeded suspended',
      'failed',
      // What has succeeded is done again only if somebody says so.
      'delayed expired failed filtered suspended',
    ],
    ['cancel', 'active blocked delayed expired ready suspended', 'active blocked delayed expired ready suspended', ''],
    ['reschedule', 'delayed ready', 'delayed ready', ''],
    [
      'purge',
      'active blocked delayed expired failed filtered ready recreated redundant succeeded suspended',
      'failed filtered recreated redundant succeeded suspended',
      '',
    ],
  ])('%s can be done to tasks that are %s, and means those that are %s', async (action, allowed, meant, named) => {
    const list = (states: readonly string[]): string => states.toSorted().join(' ')
    const may = filterStates.filter((state) => {
      try {
        return filterOf(requestOf(action, { filter: { states: [state] } })).states[0] === state
      } catch {
        return false
      }
    })
    expect(list(may)).toBe(allowed)
    expect(list(filterOf(requestOf(action)).states)).toBe(meant)
    expect(list(filterOf(requestOf(action, { named: [1] })).states)).toBe(named || meant)
    expect(await codeOf(() => filterOf(requestOf(action, { filter: { states: [] } })))).toBe('ARGUMENT_INVALID')
  })

  test('names at most a thousand tasks, or tries at most a thousand, and not both', async () => {
    const many = (length: number): object => ({ named: Array.from({ length }, (_, index) => index) })
    for (const more of [many(1), many(1_000), { try: 1 }, { try: 1_000 }])
      expect(filterOf(requestOf('redrive', more)).states).toContain('failed')
    for (const more of [
      many(0),
      many(1_001),
      { try: 0 },
      { try: 1_001 },
      { named: [1], try: 1 },
      { named: [1], fingerprint: 'f' },
    ])
      expect(await codeOf(() => filterOf(requestOf('redrive', more)))).toBe('ARGUMENT_INVALID')
  })

  test('is recorded with all by which its tasks were chosen, and with the first twenty names', () => {
    const named = Array.from({ length: 21 }, (_, index) => index)
    expect(chosenOf(requestOf('redrive', { named }))).toEqual({ named: named.slice(0, 20) })
    expect(chosenOf(requestOf('redrive', { filter: { states: ['failed'] }, fingerprint: 'f', try: 2 }))).toEqual({
      states: ['failed'],
      fingerprint: 'f',
      try: 2,
    })
    expect(chosenOf(requestOf('reschedule'))).toEqual({ to: { delayMs: 5 } })
    expect(chosenOf(requestOf('reassign', redo))).toEqual({ result: 'failure' })
    expect(chosenOf(requestOf('cancel'))).toEqual({})
  })

  test('reassigns no tasks that have the result already', async () => {
    const reassign = (states: readonly FilterState[]): ActionRequest => requestOf('reassign', { ...redo, filter: { states } })
    expect(filterOf(reassign(['succeeded'])).states).toEqual(['succeeded'])
    expect(await codeOf(() => filterOf(reassign(['succeeded', 'failed'])))).toBe('ARGUMENT_INVALID')
    expect(await codeOf(() => filterOf(requestOf('reassign', redo)))).toBe('ARGUMENT_INVALID')
  })
})

describe('what tasks were before', () => {
  const instant = fc.integer({ min: 0, max: 4e12 }).map((ms) => new Date(ms))
  const former = fc.record(
    {
      state: fc.constantFrom(...filterStates),
      attempt: fc.nat(3),
      tries: fc.nat(3),
      priority: fc.integer({ min: -1, max: 1 }),
      reason: fc.constantFrom(...taskReasons),
      due: instant,
      deadline: instant,
    },
    { requiredKeys: ['state', 'attempt', 'tries', 'priority'] },
  )
  const sequences = fc
    .uniqueArray(fc.nat(60), { minLength: 1, maxLength: 40 })
    .map((all) => all.toSorted((left, right) => left - right))
  const left: fc.Arbitrary<LeftTasks> = fc.record(
    { states: fc.constant(['ready', 'delayed'] as const), due: instant, deadline: fc.option(instant), priority: fc.nat(5) },
    { requiredKeys: ['states'] },
  )

  test('is read again as it was, whatever it was', () => {
    fc.assert(
      fc.property(sequences, fc.array(former, { minLength: 1, maxLength: 4 }), left, (all, kinds, how) => {
        const tasks = all.map((sequence, index): FormerTask => ({ sequence, ...kinds[(index >> 2) % kinds.length]! }))
        const kept: unknown = JSON.parse(JSON.stringify(packed(tasks, how)))
        expect(unpacked(rangesOf(all), kept as never)).toEqual({ tasks, left: how })
      }),
    )
  })

  test('takes one place for tasks that were alike, and a range for sequences without a gap', () => {
    expect(rangesOf([1, 2, 3, 5, 7, 8])).toEqual([
      [1, 3],
      [5, 5],
      [7, 8],
    ])
    expect(
      sequencesIn([
        [4, 6],
        [9, 9],
      ]),
    ).toEqual([4, 5, 6, 9])
    const alike = { state: 'failed', attempt: 1, tries: 1, priority: 0 } as const
    const tasks = [1, 2, 3, 4, 5].map((sequence): FormerTask => ({ sequence, ...alike, ...(sequence === 4 && { tries: 2 }) }))
    const failed = filterStates.indexOf('failed')
    expect(packed(tasks, { states: ['ready'] })).toEqual({
      left: { states: ['ready'] },
      // What is not there takes no room.
      kinds: [
        [failed, 1, 1, 0],
        [failed, 1, 2, 0],
      ],
      runs: [
        [3, 0],
        [1, 1],
        [1, 0],
      ],
    })
  })

  test('is not made up where a record has none', () => {
    const whole = Object(
      packed([{ sequence: 1, state: 'ready', attempt: 0, tries: 0, priority: 0 }], { states: ['ready'] }),
    ) as object
    expect(unpacked([[1, 1]], whole as never)).toBeDefined()
    expect(unpacked(undefined, whole as never)).toBeUndefined()
    expect(unpacked([[1, 1]], undefined)).toBeUndefined()
    for (const part of ['left', 'kinds', 'runs'])
      expect([part, unpacked([[1, 1]], { ...whole, [part]: undefined } as never)]).toEqual([part, undefined])
  })
})
