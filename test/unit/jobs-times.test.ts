/** When jobs fire: grids, starts, ends, counts, and what is refused. */
import { isTaskError } from '@taskstream/task-api'
import { calendar, every, ClockJobScheduler } from '@taskstream/task-scheduler'
import type { ClockJobOptions, Timer } from '@taskstream/task-scheduler'
import { describe, expect, test } from 'vitest'
import { at, epochMs, jobFixture } from '../jobs.ts'

const refused = (work: () => unknown): { argument: unknown; message: string } => {
  try {
    work()
  } catch (error) {
    if (isTaskError(error, 'ARGUMENT_INVALID')) return { argument: error.data['argument'], message: error.message }
    throw error
  }
  throw new Error('It was taken')
}

describe('a job', () => {
  test('of an interval fires at once, and then on a grid that begins there', async () => {
    const { jobs, clock, job, seen } = jobFixture()
    jobs.schedule(job(), { intervalMs: 1_000, id: 'report' })
    await clock.pass(3_500)
    expect(seen).toEqual(
      [0, 1_000, 2_000, 3_000].map((ms, index) => ({ id: 'report', count: index + 1, tries: 1, dueMs: ms, beganMs: ms })),
    )
  })

  test('of an interval fires at its start, and not before', async () => {
    const { jobs, clock, job, began } = jobFixture()
    jobs.schedule(job(), { intervalMs: 1_000, start: at(2_500) })
    await clock.pass(5_000)
    expect(began()).toEqual([2_500, 3_500, 4_500])
  })

  test('that is late leaves its grid where it is', async () => {
    const { jobs, clock, lasting, seen } = jobFixture()
    jobs.schedule(lasting(1_500), { intervalMs: 1_000, maxCount: 3 })
    await clock.pass(10_000)
    expect(seen.map(({ dueMs, beganMs }) => [dueMs, beganMs])).toEqual([
      [0, 0],
      [1_000, 1_500],
      [2_000, 3_000],
    ])
  })

  test('of a timer fires when that elapses: after now, or from its start on', async () => {
    const { jobs, clock, job, seen } = jobFixture()
    jobs.schedule(job(), { timer: every('PT10M'), id: 'now', maxCount: 1 })
    jobs.schedule(job(), { timer: every('PT10M'), id: 'start', start: at(1_200_000), maxCount: 1 })
    jobs.schedule(job(), { timer: calendar('Mon 12:00:30'), id: 'calendar' })
    await clock.pass(86_400_000 + 30_000)
    expect(seen.map(({ id, beganMs }) => [id, beganMs])).toEqual([
      ['now', 600_000],
      ['start', 1_200_000],
      ['calendar', 86_400_000 + 30_000],
    ])
  })

  test('fires at its end, and not after', async () => {
    const { jobs, clock, job, began } = jobFixture()
    jobs.schedule(job(), { intervalMs: 1_000, end: at(2_000) })
    jobs.schedule(job(), { intervalMs: 1_000, start: at(500), end: at(500) })
    await clock.pass(10_000)
    expect(began()).toEqual([0, 500, 1_000, 2_000])
    expect(jobs.running()).toEqual([])
  })

  test('fires as often as it is to, and is over', async () => {
    const { jobs, clock, job, began } = jobFixture()
    jobs.schedule(job(), { intervalMs: 1_000, maxCount: 3 })
    await clock.pass(1_000)
    expect(jobs.running()).toMatchObject([{ count: 2, next: at(2_000), paused: false }])
    await clock.pass(10_000)
    expect(began()).toEqual([0, 1_000, 2_000])
    expect(jobs.running()).toEqual([])
    expect(clock.waiting.size).toBe(0)
  })

  test('without a limit goes on, as does one whose limit is -1', async () => {
    const { jobs, clock, job, seen } = jobFixture()
    jobs.schedule(job(), { intervalMs: 10 })
    jobs.schedule(job(), { intervalMs: 10, maxCount: -1 })
    await clock.pass(1_000)
    expect(seen).toHaveLength(202)
  })

  test('that runs once does so at its time', async () => {
    const { jobs, clock, job, seen } = jobFixture()
    expect(jobs.scheduleOnce(job(), at(1_234), { id: 'once' })).toEqual({ id: 'once', count: 0, next: at(1_234), paused: false })
    await clock.pass(100_000)
    expect(seen).toEqual([{ id: 'once', count: 1, tries: 1, dueMs: 1_234, beganMs: 1_234 }])
    expect(jobs.running()).toEqual([])
  })

  test('can wait for longer than a timer of the process can, and looks at the wall clock every minute', async () => {
    const { jobs, clock, job, began } = jobFixture()
    const waitMs = 2 ** 31 + 30_000
    jobs.scheduleOnce(job(), at(waitMs))
    await clock.pass(waitMs - 1)
    expect(began()).toEqual([])
    expect(clock.sleeps.every((ms) => ms <= 60_000)).toBe(true)
    await clock.pass(1)
    expect(began()).toEqual([waitMs])
  })

  test('is told who it is, when it was due and how often it has fired', async () => {
    const { jobs, clock } = jobFixture()
    const contexts: unknown[] = []
    jobs.schedule((context) => contexts.push(context), { intervalMs: 1_000, id: 'report', maxCount: 2 })
    await clock.pass(1_000)
    expect(contexts).toEqual([
      { id: 'report', scheduledFor: at(0), count: 1, tries: 1, signal: expect.any(AbortSignal) },
      { id: 'report', scheduledFor: at(1_000), count: 2, tries: 1, signal: expect.any(AbortSignal) },
    ])
  })

  test('has an id of its own unless it is given one', () => {
    const { jobs, job } = jobFixture()
    const ids = Array.from({ length: 100 }, () => jobs.schedule(job(), { intervalMs: 1_000 }).id)
    expect(new Set(ids).size).toBe(100)
    expect(jobs.running().map(({ id }) => id)).toEqual(ids)
  })
})

describe('what is refused', () => {
  const { jobs, job } = jobFixture()
  const schedule =
    (options: unknown): (() => unknown) =>
    () =>
      jobs.schedule(job(), options as ClockJobOptions)
  const never: Timer = { expression: 'never', zone: 'UTC', next: () => undefined }

  test.each([
    ['a start in the past', { intervalMs: 1, start: at(-1) }, 'start', 'leave it out to start now'],
    ['an end in the past', { intervalMs: 1, end: at(-1) }, 'end', 'must be in the future, and it is 2026-03-01T12:00:00.000Z'],
    ['an end that is now', { intervalMs: 1, end: at(0) }, 'end', 'must be in the future'],
    ['an end before the start', { intervalMs: 1, start: at(2), end: at(1) }, 'end', 'must not be before start, which is 2026'],
    ['a start that is no date', { intervalMs: 1, start: new Date(Number.NaN) }, 'start', 'must be a valid Date'],
    ['an end that is no date', { intervalMs: 1, end: '2027-01-01' }, 'end', 'must be a valid Date'],
    ['no fire at all', { intervalMs: 1, maxCount: 0 }, 'maxCount', 'at least 1, or -1 for no limit'],
    ['half a fire', { intervalMs: 1, maxCount: 1.5 }, 'maxCount', 'at least 1, or -1 for no limit'],
    ['a count below -1', { intervalMs: 1, maxCount: -2 }, 'maxCount', 'at least 1, or -1 for no limit'],
    ['an interval that is negative', { intervalMs: -1 }, 'intervalMs', 'must be a whole number from 1'],
    ['no interval', { intervalMs: 0 }, 'intervalMs', 'must be a whole number from 1'],
    ['neither a timer nor an interval', {}, 'intervalMs', 'must be a whole number from 1'],
    ['both a timer and an interval', { intervalMs: 1, timer: every(1) }, 'intervalMs', 'leave one of them out'],
    ['a timer that is none', { timer: '* * * * *' }, 'timer', 'must be a timer, such as'],
    ['a timer that never elapses', { timer: never }, 'timer', 'has no time left to fire at'],
    ['a timer that elapses after the end only', { timer: every('PT1H'), end: at(1) }, 'timer', 'has no time left to fire at'],
    ['an error policy that is none', { intervalMs: 1, onError: 'retry' }, 'onError', 'must be one of log-and-terminate, '],
    [
      'a late policy that is none',
      { intervalMs: 1, whenLate: 'skip' },
      'whenLate',
      'must be one of wait, ignore, log-and-ignore',
    ],
    ['an overlap that is none', { intervalMs: 1, overlap: true }, 'overlap', 'must be one of forbid, allow'],
    ['a retry policy that is none', { intervalMs: 1, retry: 3 }, 'retry', 'such as fixed('],
    ['an empty id', { intervalMs: 1, id: '' }, 'id', 'must not be empty'],
  ])('%s', (_, options, argument, rule) => {
    const error = refused(schedule(options))
    expect(error.argument).toBe(argument)
    expect(error.message).toContain(rule)
    expect(jobs.running()).toEqual([])
  })

  test('a function that is none', () => {
    expect(refused(() => jobs.schedule({ execute: job() } as never, { intervalMs: 1 })).argument).toBe('work')
  })

  test.each([
    ['past', at(-1), 'must be in the future'],
    ['present', at(0), 'must be in the future'],
    ['invalid', new Date('2027-02-31T25:00'), 'must be a valid Date'],
    ['beyond timers', new Date('2200-01-01'), 'in the years 1970 to 2199'],
  ])('a job that is to run once at an instant that is %s', (_, instant, rule) => {
    const error = refused(() => jobs.scheduleOnce(job(), instant))
    expect(error.argument).toBe('at')
    expect(error.message).toContain(rule)
  })

  test('a second job of an id, for as long as there is the first', async () => {
    const { jobs, clock, job } = jobFixture()
    jobs.schedule(job(), { intervalMs: 1_000, id: 'a', maxCount: 2 })
    const again = (): unknown => jobs.schedule(job(), { intervalMs: 1_000, id: 'a' })
    expect(again).toThrow(expect.objectContaining({ code: 'JOB_DUPLICATE', data: { id: 'a' } }))
    await clock.pass(1_000)
    expect(again).not.toThrow()
  })

  test('an unknown id, whether or not there was ever a job', () => {
    const { jobs, job } = jobFixture()
    const unknown = expect.objectContaining({ code: 'JOB_UNKNOWN', data: { id: 'a' } })
    const all = (): void => {
      for (const verb of ['pause', 'resume', 'unschedule'] as const) expect(() => jobs[verb]('a')).toThrow(unknown)
    }
    all()
    jobs.schedule(job(), { intervalMs: 1_000, id: 'a' })
    jobs.unschedule('a')
    all()
  })

  test('limits that are none', () => {
    const limits = [
      [{ workers: 0 }, 'workers must be a whole number, at least 1: 0'],
      [{ workers: 1.5 }, 'workers must be a whole number, at least 1: 1.5'],
      [{ workers: Infinity }, 'workers must be a whole number, at least 1: Infinity'],
      [{ waitingTimeMs: -1 }, 'waitingTimeMs must be a whole number from 0'],
    ] as const
    for (const [one, message] of limits) {
      expect(() => new ClockJobScheduler(one)).toThrow(message)
      expect(() => jobs.configure(one)).toThrow(message)
    }
    expect(refused(() => new ClockJobScheduler({ onLog: console as never })).argument).toBe('onLog')
  })
})

test('a timer that goes back, or throws, ends its job and is logged, and the others go on', async () => {
  const { jobs, clock, job, seen, log } = jobFixture()
  const failing = (next: (after: number) => number): Timer => ({ expression: 'mine', zone: 'UTC', next })
  const broken = new Error('out of order')
  jobs.schedule(job(), { timer: failing((after) => (after === epochMs ? epochMs + 10 : after)), id: 'back' })
  jobs.schedule(job(), {
    timer: failing((after) => {
      if (after === epochMs) return epochMs + 20
      throw broken
    }),
    id: 'throws',
  })
  jobs.schedule(job(), { intervalMs: 50, id: 'good' })
  await clock.pass(100)
  expect(seen.map(({ id }) => id)).toEqual(['good', 'good', 'good'])
  expect(log).toEqual([
    {
      id: 'back',
      scheduledFor: at(10),
      message: expect.stringContaining('Job "back" is unscheduled: its timer failed: timer must return a time later'),
      error: expect.any(Error),
    },
    { id: 'throws', scheduledFor: at(20), message: 'Job "throws" is unscheduled: its timer failed: out of order', error: broken },
  ])
})

test('a limit of jobs that is undefined is its default, or stays', async () => {
  const unsaid = { workers: undefined, waitingTimeMs: undefined } as never
  const jobs = new ClockJobScheduler(unsaid)
  jobs.configure(unsaid)
  expect(await jobs.stop()).toEqual({ finished: [], aborted: [], abandoned: [] })
})
