/** A job that fails is run again by its policy. */
import { byError, exponential, fixed, never } from '@taskstream/task-processor'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { at, jobFixture } from '../jobs.ts'

const failing = (): never => {
  throw new Error('no paper')
}

describe('a retry', () => {
  const policy = fixed({ tries: 3, afterMs: 100, jitter: 0 })

  test('comes after its pause, ends with a success, and is no fire', async () => {
    const { jobs, clock, job, seen, log } = jobFixture()
    jobs.schedule(
      job(({ tries, count }) => (count === 1 && tries < 3 ? failing() : undefined)),
      { intervalMs: 1_000, id: 'print', maxCount: 2, retry: policy },
    )
    await clock.pass(5_000)
    expect(seen.map(({ count, tries, beganMs, dueMs }) => [count, tries, dueMs, beganMs])).toEqual([
      [1, 1, 0, 0],
      [1, 2, 0, 100],
      [1, 3, 0, 200],
      [2, 1, 1_000, 1_000],
    ])
    expect(log).toEqual([])
  })

  test('is the last when its policy has no further, and the error policy decides on the last error', async () => {
    const { jobs, clock, job, log } = jobFixture()
    jobs.schedule(
      job(({ tries }) => Promise.reject(new Error(`try ${tries}`))),
      { intervalMs: 1_000, id: 'print', retry: policy },
    )
    await clock.pass(5_000)
    expect(log.map(({ message, error }) => [message, error])).toEqual([
      ['Job "print" failed after 3 tries and is unscheduled: try 3', new Error('try 3')],
    ])
    expect(jobs.running()).toEqual([])
  })

  test('is not made at or after the next fire, and the error policy decides before that fire', async () => {
    const { jobs, clock, job, seen, log } = jobFixture()
    const retry = exponential({ tries: 10, firstMs: 400, jitter: 0 })
    jobs.schedule(job(failing), { intervalMs: 1_000, id: 'continue', retry, onError: 'log-and-continue', maxCount: 2 })
    jobs.schedule(job(failing), { intervalMs: 400, id: 'terminate', retry })
    await clock.pass(10_000)
    expect(seen.filter(({ id }) => id === 'continue').map(({ count, tries, beganMs }) => [count, tries, beganMs])).toEqual([
      [1, 1, 0],
      [1, 2, 400],
      // The last fire has the same time, though none comes after it.
      [2, 1, 1_000],
      [2, 2, 1_400],
    ])
    expect(seen.filter(({ id }) => id === 'terminate')).toHaveLength(1)
    expect(log.map(({ message }) => message)).toEqual([
      'Job "terminate" failed and is unscheduled: no paper',
      'Job "continue" failed after 2 tries: no paper',
      'Job "continue" failed after 2 tries: no paper',
    ])
  })

  test('has as much time after the last fire as after any other, whatever its policy', async () => {
    const plan = fc.record({
      intervalMs: fc.integer({ min: 1, max: 50 }),
      fires: fc.integer({ min: 1, max: 3 }),
      attempts: fc.integer({ min: 0, max: 8 }),
      firstMs: fc.integer({ min: 1, max: 60 }),
      factor: fc.constantFrom(1, 2),
      maxMs: fc.integer({ min: 60, max: 100 }),
    })
    await fc.assert(
      fc.asyncProperty(plan, async ({ intervalMs, fires, attempts, firstMs, factor, maxMs }) => {
        const { jobs, clock, job, seen } = jobFixture()
        const retry = exponential({ tries: attempts + 1, firstMs, factor, maxMs, jitter: 0 })
        jobs.schedule(job(failing), { intervalMs, maxCount: fires, id: 'print', retry, onError: 'continue' })
        await clock.pass(10_000)
        // A try after each pause, until the policy has no further or so much time has passed as lies between two fires.
        const began = [0]
        for (let pauseMs = firstMs, sinceMs = pauseMs; began.length <= attempts && sinceMs < intervalMs; sinceMs += pauseMs) {
          began.push(sinceMs)
          pauseMs = Math.min(maxMs, pauseMs * factor)
        }
        const expected = Array.from({ length: fires }, (_, fire) => began.map((ms) => fire * intervalMs + ms)).flat()
        expect(seen.map(({ beganMs }) => beganMs)).toEqual(expected)
      }),
      { numRuns: 200 },
    )
  })

  test('of a job that fires once goes by its policy alone', async () => {
    const { jobs, clock, job, began } = jobFixture()
    jobs.scheduleOnce(job(failing), at(10), { id: 'once', retry: fixed({ tries: 3, afterMs: 5_000, jitter: 0 }) })
    await clock.pass(60_000)
    expect(began()).toEqual([10, 5_010, 10_010])
  })

  test('is not made at or after the end', async () => {
    const { jobs, clock, job, began, log } = jobFixture()
    jobs.schedule(job(failing), { intervalMs: 1_000, retry: policy, end: at(200), id: 'print' })
    await clock.pass(10_000)
    expect(began()).toEqual([0, 100])
    expect(log).toMatchObject([{ message: 'Job "print" failed after 2 tries and is unscheduled: no paper' }])
  })

  // A pause that is longer than the interval is no reason to forget the error.
  test('that there can be none of loses no error', async () => {
    const { jobs, clock, job, log } = jobFixture()
    jobs.schedule(job(failing), { intervalMs: 1_000, id: 'long', retry: fixed({ tries: 3, afterMs: 5_000, jitter: 0 }) })
    jobs.schedule(job(failing), { intervalMs: 1_000, id: 'equal', retry: fixed({ tries: 3, afterMs: 1_000, jitter: 0 }) })
    jobs.schedule(job(failing), { intervalMs: 1_000, id: 'never', retry: never })
    await clock.pass(0)
    expect(log.map(({ message }) => message)).toEqual([
      'Job "long" failed and is unscheduled: no paper',
      'Job "equal" failed and is unscheduled: no paper',
      'Job "never" failed and is unscheduled: no paper',
    ])
  })

  test('whose worker is taken until the next fire is due is given up, and its error is the last word', async () => {
    const { jobs, clock, job, lasting, seen, log } = jobFixture({ workers: 1 })
    jobs.schedule(job(failing), { intervalMs: 1_000, id: 'print', retry: policy, onError: 'log-and-continue' })
    jobs.scheduleOnce(lasting(1_500), at(50), { id: 'long' })
    await clock.pass(1_550)
    expect(seen.map(({ id, count, tries, beganMs }) => [id, count, tries, beganMs])).toEqual([
      ['print', 1, 1, 0],
      ['long', 1, 1, 50],
      ['print', 2, 1, 1_550],
    ])
    expect(log).toMatchObject([{ scheduledFor: at(0), message: 'Job "print" failed: no paper' }])
  })

  test('waits without a worker', async () => {
    const { jobs, clock, job, lasting, seen } = jobFixture({ workers: 1 })
    jobs.schedule(job(failing), { intervalMs: 1_000, id: 'print', retry: policy, onError: 'continue', maxCount: 1 })
    jobs.schedule(lasting(50), { intervalMs: 1_000, id: 'other', maxCount: 1 })
    await clock.pass(500)
    expect(seen.map(({ id, beganMs }) => [id, beganMs])).toEqual([
      ['print', 0],
      ['other', 0],
      ['print', 100],
      ['print', 200],
    ])
  })

  test('that still waits when its job is unscheduled is not made, and its error is logged', async () => {
    const { jobs, clock, job, seen, log } = jobFixture()
    jobs.schedule(job(failing), { intervalMs: 1_000, id: 'print', retry: policy })
    await clock.pass(50)
    expect(jobs.running()).toHaveLength(1)
    jobs.unschedule('print')
    await clock.pass(1_000)
    expect(seen).toHaveLength(1)
    expect(log.map(({ message }) => message)).toEqual(['Job "print" failed: no paper'])
    expect(clock.waiting.size).toBe(0)
  })

  test('goes by the class of an error, and by what its job is', async () => {
    const { jobs, clock, job, seen, log } = jobFixture()
    const told: unknown[] = []
    jobs.schedule(
      job(({ tries }) => Promise.reject(tries === 1 ? new RangeError('far') : new TypeError('wrong'))),
      {
        intervalMs: 1_000,
        id: 'print',
        retry: byError([[RangeError, (context, error) => (told.push([context.id, context.tries, error]), 10)]]),
      },
    )
    await clock.pass(500)
    expect(seen.map(({ tries }) => tries)).toEqual([1, 2])
    expect(told).toEqual([['print', 1, new RangeError('far')]])
    expect(log.map(({ message }) => message)).toEqual(['Job "print" failed after 2 tries and is unscheduled: wrong'])
  })

  test.each<[string, () => number, string]>([
    ['throws', () => failing(), 'no paper'],
    ['returns no duration', () => Number.NaN, 'must be a whole number from 0'],
  ])('whose policy %s is not made, and both errors are logged', async (_, retry, words) => {
    const { jobs, clock, job, log } = jobFixture()
    jobs.schedule(
      job(() => Promise.reject(new Error('jammed'))),
      { intervalMs: 1_000, id: 'print', retry },
    )
    await clock.pass(500)
    expect(log).toHaveLength(1)
    expect(log[0]!.message).toContain('Job "print" failed and is unscheduled: jammed; and it is not tried again: ')
    expect(log[0]!.message).toContain(words)
    expect((log[0]!.error as AggregateError).errors[0]).toEqual(new Error('jammed'))
  })
})
