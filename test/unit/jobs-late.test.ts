/** What becomes of fires that are late, and of jobs for which there is no worker. */
import { calendar, every } from '@taskstream/task-timers'
import type { ClockJobLatePolicy } from '@taskstream/task-scheduler'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fire } from '../../packages/task-scheduler/src/periodic/schedule.ts'
import { misfireOf } from '../../packages/task-scheduler/src/persisted-clock-jobs/late-policy.ts'
import { at, jobFixture } from '../jobs.ts'

describe('a fire that is late', () => {
  /** Fires at 0, is paused from 500 to 10 250, and is seen for two more seconds. */
  const paused = async (whenLate: ClockJobLatePolicy, maxCount = -1) => {
    const fixture = jobFixture({ waitingTimeMs: 5_000 })
    const { jobs, clock, job } = fixture
    jobs.schedule(job(), { intervalMs: 1_000, id: 'report', whenLate, maxCount })
    await clock.pass(500)
    jobs.pause('report')
    await clock.pass(9_750)
    jobs.resume('report')
    await clock.pass(1_750)
    return fixture
  }

  test('is run as soon as it can be under wait: each that was missed, and each counts', async () => {
    const { seen, log } = await paused('wait')
    expect(seen.map(({ dueMs }) => dueMs)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((second) => second * 1_000))
    expect(seen.filter(({ beganMs }) => beganMs === 10_250)).toHaveLength(10)
    expect(log).toEqual([])
  })

  test('is one of the count under wait', async () => {
    const { seen, jobs } = await paused('wait', 4)
    expect(seen.map(({ dueMs, beganMs, count }) => [dueMs, beganMs, count])).toEqual([
      [0, 0, 1],
      [1_000, 10_250, 2],
      [2_000, 10_250, 3],
      [3_000, 10_250, 4],
    ])
    expect(jobs.running()).toEqual([])
  })

  // Where a count is limited, another scheduler would run one at once, and shift the others.
  test.each([-1, 4])(
    'is dropped under ignore, with a count of %d: the next is on the grid, and the count stays',
    async (maxCount) => {
      const { seen, log } = await paused('ignore', maxCount)
      expect(seen.map(({ dueMs, beganMs, count }) => [dueMs, beganMs, count])).toEqual([
        [0, 0, 1],
        [11_000, 11_000, 2],
        [12_000, 12_000, 3],
      ])
      expect(log).toEqual([])
    },
  )

  test('is dropped and logged under log-and-ignore, once for all that were missed, with the name of the job', async () => {
    const { seen, log } = await paused('log-and-ignore')
    expect(seen.map(({ dueMs }) => dueMs)).toEqual([0, 11_000, 12_000])
    expect(log).toEqual([
      {
        id: 'report',
        scheduledFor: at(1_000),
        message: 'Job "report" missed its time 2026-03-01T12:00:01.000Z: it goes on at 2026-03-01T12:00:11.000Z',
      },
    ])
  })

  test.each([
    ['a timer', { timer: calendar('*:0/10') }],
    ['an interval', { intervalMs: 600_000 }],
  ])('of %s is dropped with all that are, however many, and one that is due just then is not', async (_, times) => {
    const { jobs, clock, job, began, log } = jobFixture()
    jobs.schedule(job(), { ...times, start: at(600_000), whenLate: 'log-and-ignore' })
    jobs.pauseAll()
    await clock.pass(6 * 3_600_000)
    jobs.resumeAll()
    await clock.quiet()
    expect(began()).toEqual([6 * 3_600_000])
    expect(log).toHaveLength(1)
  })

  test.each([
    [5_000, 5_000],
    [5_001, 9_000],
  ])('by %d ms begins at %d, where 5000 is the waiting time', async (lateMs, beganMs) => {
    const { jobs, clock, job, began } = jobFixture({ waitingTimeMs: 5_000 })
    jobs.schedule(job(), { intervalMs: 9_000, whenLate: 'ignore', id: 'report' })
    jobs.pause('report')
    await clock.pass(lateMs)
    jobs.resume('report')
    await clock.pass(9_000 - lateMs)
    expect(began()[0]).toBe(beganMs)
  })

  test('that runs once is run under wait, and dropped under the others, which ends it', async () => {
    const { jobs, clock, job, seen, log } = jobFixture()
    jobs.scheduleOnce(job(), at(1_000), { id: 'wait' })
    jobs.scheduleOnce(job(), at(1_000), { id: 'ignore', whenLate: 'ignore' })
    jobs.scheduleOnce(job(), at(1_000), { id: 'log', whenLate: 'log-and-ignore' })
    jobs.pauseAll()
    await clock.pass(10_000)
    jobs.resumeAll()
    await clock.quiet()
    expect(seen.map(({ id }) => id)).toEqual(['wait'])
    expect(log.map(({ message }) => message)).toEqual([
      'Job "log" missed its time 2026-03-01T12:00:01.000Z: it has no further fire',
    ])
    expect(jobs.running()).toEqual([])
  })

  test('as all workers were taken, is late by that', async () => {
    const { jobs, clock, job, lasting, seen } = jobFixture({ workers: 1, waitingTimeMs: 1_000 })
    jobs.schedule(lasting(3_500), { intervalMs: 10_000, id: 'long', maxCount: 1 })
    jobs.schedule(job(), { intervalMs: 1_000, id: 'wait', start: at(1_000), maxCount: 4 })
    jobs.schedule(job(), { intervalMs: 1_000, id: 'ignore', start: at(1_000), maxCount: 2, whenLate: 'ignore' })
    await clock.pass(6_000)
    expect(seen.map(({ id, dueMs, beganMs }) => [id, dueMs, beganMs])).toEqual([
      ['long', 0, 0],
      ['wait', 1_000, 3_500],
      ['wait', 2_000, 3_500],
      ['wait', 3_000, 3_500],
      ['wait', 4_000, 4_000],
      ['ignore', 4_000, 4_000],
      ['ignore', 5_000, 5_000],
    ])
  })
})

test('what is late is run or dropped alike, whether jobs are kept in this process or in a database', async () => {
  const missed = fc.record({
    intervalMs: fc.integer({ min: 1, max: 20 }),
    pausedMs: fc.integer({ min: 0, max: 100 }),
    waitingTimeMs: fc.integer({ min: 0, max: 60 }),
    maxCount: fc.integer({ min: 1, max: 12 }),
    whenLate: fc.constantFrom('wait', 'ignore', 'log-and-ignore'),
  })
  await fc.assert(
    fc.asyncProperty(missed, async ({ intervalMs, pausedMs, waitingTimeMs, maxCount, whenLate }) => {
      const { jobs, clock, job, seen } = jobFixture({ waitingTimeMs })
      jobs.schedule(job(), { intervalMs, maxCount, whenLate, start: at(0), id: 'late' })
      jobs.pauseAll()
      await clock.pass(pausedMs)
      jobs.resumeAll()
      await clock.quiet()

      const kept = { ...misfireOf(whenLate, waitingTimeMs), scope: 's', id: 'late', jitterMs: 0, maxCount }
      const timer = every(intervalMs, { from: at(0) })
      const submitted: number[] = []
      const now = at(pausedMs).getTime()
      for (let dueMs: number | undefined = at(0).getTime(); dueMs !== undefined && dueMs <= now;) {
        const { submit, next } = fire({ ...kept, timer, fired: submitted.length }, dueMs, now, 1)
        submitted.push(...submit)
        dueMs = next?.occurrence
      }
      expect(submitted).toEqual(seen.map(({ dueMs }) => at(dueMs).getTime()))
    }),
    { numRuns: 300 },
  )
})

describe('workers', () => {
  test('are as many as jobs run at a time, and serve who was due first', async () => {
    const { jobs, clock, lasting, seen } = jobFixture({ workers: 2 })
    for (const id of ['c', 'a', 'b']) jobs.schedule(lasting(100), { intervalMs: 1_000, id, maxCount: 1 })
    jobs.scheduleOnce(lasting(100), at(20), { id: 'later' })
    jobs.scheduleOnce(lasting(100), at(10), { id: 'earlier' })
    await clock.pass(1_000)
    expect(seen.map(({ id, beganMs }) => [id, beganMs])).toEqual([
      ['c', 0],
      ['a', 0],
      ['b', 100],
      ['earlier', 100],
      ['later', 200],
    ])
  })

  test('are not kept by a job that has missed many fires', async () => {
    const { jobs, clock, lasting, seen } = jobFixture({ workers: 2 })
    jobs.schedule(lasting(1_000), { intervalMs: 10, id: 'behind', overlap: 'allow' })
    jobs.schedule(lasting(1_000), { intervalMs: 1_000, id: 'other' })
    await clock.pass(5_000)
    expect(seen.filter(({ id }) => id === 'other').length).toBeGreaterThanOrEqual(2)
  })

  test('are five unless something else is said', async () => {
    const { jobs, clock, lasting, seen } = jobFixture()
    for (let count = 0; count < 10; count++) jobs.schedule(lasting(100), { intervalMs: 1_000, maxCount: 1 })
    await clock.pass(50)
    expect(seen).toHaveLength(5)
  })

  test('run a job beside itself only where that is allowed', async () => {
    const { jobs, clock, lasting, seen } = jobFixture()
    jobs.schedule(lasting(2_500), { intervalMs: 1_000, id: 'forbid', maxCount: 3 })
    jobs.schedule(lasting(2_500), { intervalMs: 1_000, id: 'allow', maxCount: 3, overlap: 'allow' })
    await clock.pass(10_000)
    expect(seen.filter(({ id }) => id === 'forbid').map(({ beganMs }) => beganMs)).toEqual([0, 2_500, 5_000])
    expect(seen.filter(({ id }) => id === 'allow').map(({ beganMs }) => beganMs)).toEqual([0, 1_000, 2_000])
  })
})
