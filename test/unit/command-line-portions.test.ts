/** Large writes of the command line: their portions, their pace, their end before time, and the command that goes on. */
import { TaskError } from '@taskstream/task-api'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { goOn } from '../../packages/task-cli/src/core/go-on.ts'
import { onInterrupt, whileStoppable } from '../../packages/task-cli/src/core/interrupt.ts'
import { inPortions } from '../../packages/task-operations/src/actions/portions.ts'
import type { Portion } from '../../packages/task-operations/src/actions/portions.ts'
import { Progress, progressText } from '../../packages/task-cli/src/core/progress.ts'

const { signal } = new AbortController()
const lines: string[] = []

beforeEach(() => {
  lines.length = 0
  vi.spyOn(console, 'error').mockImplementation((line: unknown) => void lines.push(String(line)))
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

describe('portions', () => {
  test('write no more than was previewed, and none is larger than it may be', async () => {
    const counts = {
      total: fc.integer({ min: 0, max: 60 }),
      portion: fc.integer({ min: 1, max: 9 }),
      there: fc.integer({ min: 0, max: 80 }),
    }
    await fc.assert(
      fc.asyncProperty(fc.record(counts), async ({ total, portion, there }) => {
        let left = there
        const next = async (size: number): Promise<Portion> => {
          expect(size).toBeLessThanOrEqual(portion)
          const count = Math.min(size, left)
          left -= count
          return { count, hasMore: count === size }
        }
        expect(await inPortions({ total, portion, signal, next })).toEqual({ done: Math.min(total, there), isOver: true })
        expect(left).toBe(there - Math.min(total, there))
      }),
    )
  })

  test('end after the running one when they are to stop, and an error says how far they came', async () => {
    const stop = new AbortController()
    const next = async (size: number): Promise<Portion> => {
      stop.abort()
      return { count: size, hasMore: true }
    }
    expect(await inPortions({ total: 30, portion: 10, signal: stop.signal, next })).toEqual({
      done: 10,
      isOver: false,
      stopped: {},
    })
    const error = new Error('gone')
    let count = 0
    const failing = async (): Promise<Portion> => {
      if (count++ === 2) throw error
      return { count: 10, hasMore: true }
    }
    expect(await inPortions({ total: 30, portion: 10, signal, next: failing })).toEqual({
      done: 20,
      isOver: false,
      stopped: { error },
    })
  })

  test('are no more than one call is to do', async () => {
    const next = async (size: number): Promise<Portion> => ({ count: size, hasMore: true })
    expect(await inPortions({ total: 30, portion: 10, most: 2, next })).toEqual({ done: 20, isOver: false })
  })

  test('are repeated if they lost against others, and never if they may have been committed', async () => {
    let attempts = 0
    const losing = (code: 'TRANSACTION_CONFLICT' | 'DATABASE_UNAVAILABLE') => async (): Promise<Portion> => {
      if (++attempts < 3) throw new TaskError(code, 'x')
      return { count: 10, hasMore: false }
    }
    expect(await inPortions({ total: 10, portion: 10, signal, next: losing('TRANSACTION_CONFLICT') })).toEqual({
      done: 10,
      isOver: true,
    })
    expect(attempts).toBe(3)
    attempts = 0
    const { done, stopped } = await inPortions({ total: 10, portion: 10, signal, next: losing('DATABASE_UNAVAILABLE') })
    expect([done, stopped, attempts]).toEqual([0, { error: expect.objectContaining({ code: 'DATABASE_UNAVAILABLE' }) }, 1])
  })

  test('keep the pace, say now and then how far they are, and stop at once while they wait', async () => {
    vi.useFakeTimers()
    const begun = performance.now()
    const sizes: number[] = []
    const stop = new AbortController()
    const next = async (size: number): Promise<Portion> => {
      sizes.push(size)
      return { count: size, hasMore: true }
    }
    const progress = new Progress(1_000)
    const onProgress = (done: number): void => progress.update(done)
    const running = inPortions({ total: 1_000, portion: 1_000, perSecond: 50, signal: stop.signal, next, onProgress })
    await vi.advanceTimersByTimeAsync(10_500)
    expect(sizes).toEqual(Array.from({ length: 11 }, () => 50))
    expect(lines).toEqual(['550 of 1,000, 55/s, 9s left'])
    stop.abort()
    expect(await running).toEqual({ done: 550, isOver: false, stopped: {} })
    expect(performance.now() - begun).toBeLessThan(10_600)
  })
})

test('progress says what is done, how fast, and how long the rest takes', () => {
  expect(progressText(14_000, 31_210, 10_000)).toBe('14,000 of 31,210, 1,400/s, 13s left')
  expect(progressText(0, 5, 2_000)).toBe('0 of 5, 0/s')
  expect(progressText(5, 5, 1_000)).toBe('5 of 5, 5/s, 0ms left')
})

test('the command that goes on has the options that were given, and other bounds', () => {
  expect(
    goOn(['redrive', "it's", '--limit', '50', '--try=1', '--from=3', '--reference', 'a b'], {
      '--limit': '20',
      '--from': '44',
      '--try': undefined,
    }),
  ).toBe(String.raw`taskstream redrive 'it'\''s' --reference 'a b' --limit 20 --from 44`)
  expect(goOn(['purge', 'a', '-y'], { '--changed-before': '2027-01-01T00:00:00.000Z' })).toBe(
    'taskstream purge a -y --changed-before 2027-01-01T00:00:00.000Z',
  )
})

test('the first Ctrl-C stops work in order, the second one ends the process, and so does one without such work', async () => {
  const exit = vi.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Error(`exit ${code}`)
  })
  await whileStoppable(async (stop) => {
    expect(stop.aborted).toBe(false)
    onInterrupt()
    expect(stop.aborted).toBe(true)
    expect(onInterrupt).toThrow('exit 130')
  })
  expect(onInterrupt).toThrow('exit 130')
  expect(exit).toHaveBeenCalledTimes(2)
})
