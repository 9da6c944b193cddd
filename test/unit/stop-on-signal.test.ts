/** A signal's stop is checked before the signal comes. */
import { stopOnSignal } from '@taskstream/task-processor'
import { expect, test } from 'vitest'

test.each([{ graceMs: NaN }, { abortMs: -1 }, { leaveMs: 0.5 }])('times that cannot be are refused at once: %o', (times) => {
  const before = process.listeners('SIGUSR2')
  const node = { stop: () => Promise.reject(new Error('not asked')) }
  expect(() => stopOnSignal(node, { signals: ['SIGUSR2'], ...times })).toThrow(
    expect.objectContaining({ code: 'ARGUMENT_INVALID' }),
  )
  expect(process.listeners('SIGUSR2')).toEqual(before)
})
