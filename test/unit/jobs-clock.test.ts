/** Jobs notice that the wall clock was set. */
import { calendar } from '@taskstream/task-timers'
import type { ClockJobLatePolicy } from '@taskstream/task-scheduler'
import { describe, expect, test } from 'vitest'
import { at, epochMs, jobFixture } from '../jobs.ts'

const hourMs = 3_600_000

describe('a wall clock that is set', () => {
  test.each<[ClockJobLatePolicy, number]>([
    // Those of the hour, and the one that is due when it is noticed.
    ['wait', 61],
    ['ignore', 1],
  ])('an hour forward makes fires late, and %s decides', async (whenLate, fires) => {
    const { jobs, clock, job, seen } = jobFixture()
    jobs.schedule(job(), { intervalMs: 60_000, whenLate })
    await clock.pass(1_000)
    clock.set(at(hourMs + 1_000))
    // Noticed within a minute, and until then nothing is due.
    await clock.pass(60_000)
    expect(seen.slice(1).filter(({ beganMs }) => beganMs <= hourMs + 60_000)).toHaveLength(fires)
    expect(new Set(seen.map(({ dueMs }) => dueMs)).size).toBe(seen.length)
  })

  test('is noticed within a minute, however long the wait was to be', async () => {
    const { jobs, clock, job, seen } = jobFixture()
    jobs.schedule(job(), { timer: calendar('Mon 12:00') })
    await clock.pass(1_000)
    clock.set(at(24 * hourMs))
    await clock.pass(60_000)
    expect(seen).toMatchObject([{ dueMs: 24 * hourMs }])
  })

  test('forward past the next fire ends the wait for a retry', async () => {
    const { jobs, clock, job, seen } = jobFixture({ workers: 2 })
    const fail = ({ count }: { count: number }): void => {
      if (count === 1) throw new Error('no')
    }
    jobs.schedule(job(fail), { intervalMs: 60_000, id: 'a', retry: () => 50_000, onError: 'continue' })
    await clock.pass(1_000)
    clock.set(at(31_000))
    jobs.scheduleOnce(job(), at(40_000), { id: 'b' })
    await clock.pass(29_000)
    expect(seen.map(({ id, count, tries, beganMs }) => [id, count, tries, beganMs])).toEqual([
      ['a', 1, 1, 0],
      ['b', 1, 1, 40_000],
      ['a', 2, 1, 60_000],
    ])
  })

  test.each<ClockJobLatePolicy>(['wait', 'ignore', 'log-and-ignore'])(
    'an hour back repeats no fire, under %s',
    async (whenLate) => {
      const { jobs, clock, job, seen } = jobFixture()
      jobs.schedule(job(), { intervalMs: 600_000, whenLate })
      jobs.schedule(job(), { timer: calendar('*:0/10'), whenLate })
      await clock.pass(hourMs)
      clock.set(at(0))
      await clock.pass(hourMs - 1)
      expect(seen).toHaveLength(7 + 6)
      await clock.pass(600_001)
      expect(seen.slice(13).map(({ dueMs }) => dueMs)).toEqual([hourMs + 600_000, hourMs + 600_000])
    },
  )

  test('for winter brings a time again, at which a job that missed it does not fire', async () => {
    const { jobs, clock, job, began } = jobFixture()
    const since = (instant: string): number => Date.parse(instant) - epochMs
    clock.set(new Date('2026-10-25T00:00Z'))
    // 02:30 is at 00:30Z and at 01:30Z.
    jobs.schedule(job(), { timer: calendar('02:30 Europe/Oslo'), id: 'daily', whenLate: 'ignore' })
    jobs.schedule(job(), { timer: calendar('*:30 Europe/Oslo'), id: 'hourly', whenLate: 'ignore', maxCount: 1 })
    jobs.pauseAll()
    await clock.pass(hourMs + 600_000)
    jobs.resumeAll()
    await clock.pass(26 * hourMs)
    expect(began()).toEqual([since('2026-10-25T02:30Z'), since('2026-10-26T01:30Z')])
  })
})
