/** Times of a topic that nobody has given, and what is said of those that do not fit together. */
import type { ProcessOptions } from '@taskstream/task-processor'
import { expect, test } from 'vitest'
import { checkNodeOptions } from '../../packages/task-processor/src/worker/node-options.ts'
import { checkProcessOptions } from '../../packages/task-processor/src/worker/process-options.ts'

type Given = Omit<ProcessOptions<never>, 'handler'>
const processing = (given: Given, leaseMs: number): ReturnType<typeof checkProcessOptions> =>
  checkProcessOptions({ handler: () => new Map(), ...given }, leaseMs)

test.each([
  [30_000, 10_000],
  [3_600_000, 10_000],
  [29_999, 9_999],
  [10_000, 3_333],
])(
  'a handler in transactional mode may take a third of the lease in whole milliseconds, at most ten seconds: of %i ms %i',
  (leaseMs, timeoutMs) => {
    expect(processing({ mode: 'transactional' }, leaseMs).timeoutMs).toBe(timeoutMs)
    expect(processing({ mode: 'transactional', timeoutMs: 5 }, leaseMs).timeoutMs).toBe(5)
    expect(processing({}, leaseMs).timeoutMs).toBeUndefined()
  },
)

test.each<[named: string, given: Given, leaseMs: number, said: string]>([
  ['timeoutMs', { timeoutMs: 60_000 }, 30_000, 'timeoutMs and abortMs (2000) must not be longer than the lease (30000)'],
  ['timeoutMs', { timeoutMs: 20_000, abortMs: 20_000 }, 30_000, 'timeoutMs and abortMs (20000)'],
  ['abortMs', { abortMs: 25_000 }, 30_000, 'abortMs and timeoutMs (10000) must not be longer than the lease (30000)'],
  ['leaseMs', {}, 2_900, 'leaseMs must not be shorter than timeoutMs (966) and abortMs (2000)'],
])(
  'what does not fit into a lease in transactional mode is refused by the name of what was given: %s, for %o',
  (named, given, leaseMs, said) => {
    expect(() => processing({ mode: 'transactional', ...given }, leaseMs)).toThrow(
      expect.objectContaining({
        code: 'ARGUMENT_INVALID',
        message: expect.stringContaining(said),
        data: expect.objectContaining({ argument: named }),
      }),
    )
    expect(() => processing(given, leaseMs)).not.toThrow()
  },
)

test('a node’s lease may be the longest, whatever interval of maintenance nobody has given', () => {
  const aDay = 86_400_000
  const given = { heartbeatIntervalMs: aDay, leaseMs: 3 * aDay } as never
  expect(checkNodeOptions(given)).toMatchObject({ maintenanceIntervalMs: aDay })
})

test('a lease that is too short for the heartbeat is refused with the interval that counts, given or not', () => {
  expect(() => checkNodeOptions({ leaseMs: 5_000 } as never)).toThrow(
    'leaseMs must be more than twice heartbeatIntervalMs, which is 5000: 5000',
  )
})
