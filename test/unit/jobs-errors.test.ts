/** What becomes of jobs that fail. */
import { ClockJobScheduler } from '@taskstream/task-scheduler'
import type { ClockJobErrorPolicy, ClockJobFunction } from '@taskstream/task-scheduler'
import { describe, expect, test, vi } from 'vitest'
import { at, jobFixture } from '../jobs.ts'

const failing = (): never => {
  throw new Error('no paper')
}

describe('a job that fails', () => {
  test.each<[ClockJobErrorPolicy, number, string | undefined]>([
    ['log-and-terminate', 1, 'Job "print" failed and is unscheduled: no paper'],
    ['log-and-continue', 3, 'Job "print" failed: no paper'],
    ['terminate', 1, undefined],
    ['continue', 3, undefined],
  ])('under %s', async (onError, fires, logged) => {
    const { jobs, clock, job, seen, log } = jobFixture()
    jobs.schedule(job(failing), { intervalMs: 1_000, id: 'print', onError })
    await clock.pass(2_500)
    expect(seen).toHaveLength(fires)
    expect(log).toEqual(
      logged === undefined
        ? []
        : Array.from({ length: fires }, (_, index) => ({
            id: 'print',
            scheduledFor: at(index * 1_000),
            message: logged,
            error: new Error('no paper'),
          })),
    )
    expect(jobs.running()).toHaveLength(onError.endsWith('continue') ? 1 : 0)
  })

  test('is terminated and logged unless something else is said', async () => {
    const { jobs, clock, job, log } = jobFixture()
    jobs.schedule(job(failing), { intervalMs: 1_000, id: 'print' })
    await clock.pass(0)
    expect(log).toMatchObject([{ message: 'Job "print" failed and is unscheduled: no paper' }])
    expect(jobs.running()).toEqual([])
  })

  test('and runs once is logged', async () => {
    const { jobs, clock, job, log } = jobFixture()
    jobs.scheduleOnce(job(failing), at(10), { id: 'print' })
    await clock.pass(10)
    expect(log).toMatchObject([{ message: 'Job "print" failed: no paper' }])
  })

  test.each<[string, ClockJobFunction]>([
    ['throws', failing],
    ['rejects', () => Promise.reject(new Error('no paper'))],
    [
      'rejects later',
      async () => {
        await new Promise((resolve) => setImmediate(resolve))
        failing()
      },
    ],
    [
      'returns a thenable that rejects',
      () => ({ then: (_: unknown, reject: (error: Error) => void) => reject(new Error('no paper')) }),
    ],
  ])('is found out when it %s', async (_, work) => {
    const { jobs, clock, job, log } = jobFixture()
    jobs.schedule(job(work), { intervalMs: 1_000, id: 'print' })
    await clock.pass(0)
    expect(log).toMatchObject([{ message: 'Job "print" failed and is unscheduled: no paper' }])
  })

  test.each([
    ['text', "'text'"],
    [undefined, 'undefined'],
    [Object.create(null), '[Object: null prototype] {}'],
    [new TypeError(''), 'TypeError'],
  ])('with %o is logged', async (thrown, words) => {
    const { jobs, clock, job, log } = jobFixture()
    jobs.schedule(
      job(() => Promise.reject(thrown)),
      { intervalMs: 1_000, id: 'print' },
    )
    await clock.pass(0)
    expect(log.map(({ message }) => message)).toEqual([`Job "print" failed and is unscheduled: ${words}`])
  })

  test('harms no other', async () => {
    const { jobs, clock, job, seen } = jobFixture()
    jobs.schedule(job(failing), { intervalMs: 1_000, id: 'bad' })
    jobs.schedule(job(), { intervalMs: 1_000, id: 'good' })
    await clock.pass(2_000)
    expect(seen.map(({ id }) => id)).toEqual(['bad', 'good', 'good', 'good'])
  })

  test('is logged on the console where nothing else is said', async () => {
    const { job, clock } = jobFixture()
    const console_ = vi.spyOn(console, 'error').mockImplementation(() => {})
    try {
      const error = new Error('no paper')
      new ClockJobScheduler({ clock }).schedule(
        job(() => Promise.reject(error)),
        { intervalMs: 1_000, id: 'print' },
      )
      await clock.pass(0)
      expect(console_.mock.calls).toEqual([['Job "print" failed and is unscheduled: no paper', error]])
    } finally {
      console_.mockRestore()
    }
  })

  test.each<[string, () => unknown]>([
    ['throws', () => failing()],
    ['rejects', () => Promise.reject(new Error('no paper'))],
  ])('is told in a warning when the log %s', async (_, onLog) => {
    const warnings: Error[] = []
    const warned = (warning: Error): void => void warnings.push(warning)
    process.on('warning', warned)
    try {
      const { jobs, clock, job, seen } = jobFixture({ onLog })
      jobs.schedule(
        job(() => Promise.reject(new Error('jammed'))),
        { intervalMs: 1_000, maxCount: 2, id: 'print', onError: 'log-and-continue' },
      )
      await clock.pass(1_000)
      expect(seen).toHaveLength(2)
      await vi.waitFor(() => expect(warnings).toHaveLength(2))
      expect(warnings[0]?.message).toBe('onLog threw: no paper. It was given: Job "print" failed: jammed')
    } finally {
      process.off('warning', warned)
    }
  })
})
