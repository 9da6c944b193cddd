/** What can be done to jobs while they run: pausing, unscheduling, changing the limits. */
import { setImmediate as turn } from 'node:timers/promises'
import { ClockJobScheduler } from '@taskstream/task-scheduler'
import { describe, expect, test } from 'vitest'
import { at, jobFixture } from '../jobs.ts'

const hourMs = 3_600_000

describe('pausing', () => {
  test('one job leaves the others alone, and what runs goes on', async () => {
    const { jobs, clock, lasting, seen } = jobFixture()
    let ended = 0
    jobs.schedule((context) => (lasting(500)(context) as Promise<void>).then(() => ended++), { intervalMs: 1_000, id: 'a' })
    jobs.schedule(lasting(0), { intervalMs: 1_000, id: 'b' })
    await clock.pass(100)
    jobs.pause('a')
    jobs.pause('a')
    expect(jobs.running()).toMatchObject([
      { id: 'a', paused: true },
      { id: 'b', paused: false },
    ])
    await clock.pass(1_900)
    expect(ended).toBe(1)
    expect(seen.map(({ id, dueMs }) => `${id}${dueMs}`)).toEqual(['a0', 'b0', 'b1000', 'b2000'])
    jobs.resume('a')
    await clock.quiet()
    expect(seen.at(-1)).toMatchObject({ id: 'a', dueMs: 1_000, beganMs: 2_000 })
  })

  test('all jobs pauses those that there are, one by one; resuming all resumes each', async () => {
    const { jobs, clock, job, seen } = jobFixture()
    jobs.schedule(job(), { intervalMs: 1_000, start: at(1_000), id: 'a' })
    jobs.schedule(job(), { intervalMs: 1_000, start: at(1_000), id: 'b' })
    jobs.pauseAll()
    jobs.schedule(job(), { intervalMs: 1_000, start: at(1_000), id: 'later' })
    jobs.resume('b')
    await clock.pass(1_500)
    expect(seen.map(({ id }) => id)).toEqual(['b', 'later'])
    jobs.resumeAll()
    await clock.quiet()
    expect(seen.map(({ id }) => id)).toEqual(['b', 'later', 'a'])
  })

  test('before anything was scheduled does nothing, as does resuming', async () => {
    const { jobs, clock, job, seen } = jobFixture()
    jobs.pauseAll()
    jobs.resumeAll()
    jobs.pauseAll()
    jobs.schedule(job(), { intervalMs: 1_000 })
    await clock.pass(0)
    expect(seen).toHaveLength(1)
  })

  test('a job that is due at the same time, from within another', async () => {
    const { jobs, clock, job, seen } = jobFixture()
    jobs.schedule(
      job(() => jobs.pauseAll()),
      { intervalMs: 1_000, id: 'a' },
    )
    jobs.schedule(job(), { intervalMs: 1_000, id: 'b' })
    await clock.pass(0)
    expect(seen.map(({ id }) => id)).toEqual(['a'])
  })

  test('keeps nothing waiting', async () => {
    const { jobs, clock, job } = jobFixture()
    for (const pause of [() => jobs.pause('a'), () => jobs.pauseAll()]) {
      jobs.schedule(job(), { intervalMs: hourMs, id: 'a' })
      await clock.quiet()
      expect(clock.waiting.size).toBe(1)
      pause()
      await clock.quiet()
      expect(clock.waiting.size).toBe(0)
      jobs.unschedule('a')
    }
  })

  test('holds back retries', async () => {
    const { jobs, clock, job, seen } = jobFixture()
    const fail = (): never => {
      throw new Error('no')
    }
    jobs.schedule(job(fail), { intervalMs: 1_000, id: 'a', retry: () => 10, onError: 'continue' })
    await clock.pass(0)
    jobs.pause('a')
    await clock.pass(500)
    expect(seen).toHaveLength(1)
    jobs.resume('a')
    await clock.quiet()
    expect(seen.at(-1)).toMatchObject({ tries: 2, beganMs: 500 })
  })

  test('makes jobs that have missed a thousand fires leave the process time for everything else', async () => {
    const { jobs, clock, job, seen } = jobFixture()
    jobs.schedule(job(), { intervalMs: 1, id: 'a' })
    jobs.pause('a')
    await clock.pass(1_000)
    jobs.resume('a')
    for (let turns = 0; turns < 10; turns++) await turn()
    expect(seen.length).toBeGreaterThan(0)
    expect(seen.length).toBeLessThan(50)
  })
})

describe('unscheduling', () => {
  test('ends a job, lets what runs go on without retries, and leaves the others alone', async () => {
    const { jobs, clock, job, seen, log } = jobFixture()
    let aborted = false
    const work = job(async ({ signal }) => {
      await new Promise<void>((resolve) => clock.after(500, resolve))
      aborted = signal.aborted
      throw new Error('at the end')
    })
    jobs.schedule(work, { intervalMs: 1_000, id: 'a', retry: () => 1 })
    jobs.schedule(job(), { intervalMs: 1_000, id: 'b' })
    await clock.pass(100)
    jobs.unschedule('a')
    expect(jobs.running().map(({ id }) => id)).toEqual(['b'])
    await clock.pass(2_900)
    expect(seen.map(({ id }) => id)).toEqual(['a', 'b', 'b', 'b', 'b'])
    expect(aborted).toBe(false)
    expect(log.map(({ message }) => message)).toEqual(['Job "a" failed: at the end'])
  })

  test('the last job leaves nothing behind, and scheduling works again', async () => {
    const { jobs, clock, job, seen } = jobFixture()
    for (let round = 1; round <= 3; round++) {
      jobs.schedule(job(), { intervalMs: hourMs, id: 'a' })
      await clock.pass(1)
      expect(clock.waiting.size).toBe(1)
      jobs.unschedule('a')
      await clock.quiet()
      expect(clock.waiting.size).toBe(0)
      expect(seen).toHaveLength(round)
    }
  })

  test('a job from within itself, or one that is due at the same time', async () => {
    const { jobs, clock, job, seen } = jobFixture()
    jobs.schedule(
      job(({ id }) => {
        jobs.unschedule(id)
        jobs.unschedule('b')
        jobs.schedule(job(), { intervalMs: 1_000, id, start: at(500), maxCount: 1 })
      }),
      { intervalMs: 1_000, id: 'a' },
    )
    jobs.schedule(job(), { intervalMs: 1_000, id: 'b' })
    await clock.pass(5_000)
    expect(seen.map(({ id, beganMs }) => [id, beganMs])).toEqual([
      ['a', 0],
      ['a', 500],
    ])
    expect(jobs.running()).toEqual([])
  })
})

test.each([
  ['ends', () => {}, []],
  [
    'fails',
    () => {
      throw new Error('no')
    },
    ['Job "a" failed: no'],
  ],
])('a job that %s after it was unscheduled does nothing to the one that has its id now', async (_, end, logged) => {
  const { jobs, clock, job, lasting, seen, log } = jobFixture()
  jobs.schedule((context) => (lasting(500)(context) as Promise<void>).then(end), { intervalMs: 1_000, id: 'a', maxCount: 1 })
  await clock.pass(100)
  jobs.unschedule('a')
  jobs.schedule(job(), { intervalMs: 1_000, id: 'a' })
  await clock.pass(2_000)
  expect(seen.map(({ beganMs }) => beganMs)).toEqual([0, 100, 1_100, 2_100])
  expect(log.map(({ message }) => message)).toEqual(logged)
})

describe('the limits', () => {
  test('can be changed while jobs run: no job begins again, and no fire is lost or repeated', async () => {
    const { jobs, clock, lasting, seen } = jobFixture({ workers: 1 })
    for (const id of ['a', 'b', 'c']) jobs.schedule(lasting(600), { intervalMs: 2_000, id, maxCount: 2 })
    await clock.pass(100)
    expect(seen.map(({ id }) => id)).toEqual(['a'])
    jobs.configure({ workers: 2 })
    await clock.pass(0)
    expect(seen.map(({ id }) => id)).toEqual(['a', 'b'])
    jobs.configure({ workers: 1 })
    await clock.pass(9_900)
    expect(seen.map(({ id, count, dueMs, beganMs }) => [id, count, dueMs, beganMs])).toEqual([
      ['a', 1, 0, 0],
      ['b', 1, 0, 100],
      // What runs already beyond fewer workers runs to its end.
      ['c', 1, 0, 700],
      ['a', 2, 2_000, 2_000],
      ['b', 2, 2_000, 2_600],
      ['c', 2, 2_000, 3_200],
    ])
    expect(jobs.running()).toEqual([])
  })

  test('of lateness can be changed for what is late already', async () => {
    const { jobs, clock, job, seen } = jobFixture({ waitingTimeMs: 60_000 })
    jobs.schedule(job(), { intervalMs: 1_000, id: 'a', whenLate: 'ignore' })
    jobs.pause('a')
    await clock.pass(3_500)
    jobs.configure({ waitingTimeMs: 1_000 })
    jobs.configure({ workers: 1 })
    jobs.resume('a')
    await clock.pass(500)
    expect(seen.map(({ dueMs }) => dueMs)).toEqual([4_000])
  })
})

test('one scheduler does nothing to another', async () => {
  const { jobs, clock, job, seen } = jobFixture()
  const other = new ClockJobScheduler({ clock })
  jobs.schedule(job(), { intervalMs: 1_000, id: 'a', maxCount: 2 })
  other.schedule(job(), { intervalMs: 1_000, id: 'a', maxCount: 3 })
  await clock.pass(500)
  await other.stop()
  await clock.pass(5_000)
  expect(seen).toHaveLength(3)
})
