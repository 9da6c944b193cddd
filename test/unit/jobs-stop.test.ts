/** A stop of jobs lets runs finish, asks them to end, and starts no others. */
import { setImmediate as turn } from 'node:timers/promises'
import { ClockJobScheduler } from '@taskstream/task-scheduler'
import type { ClockJobFunction } from '@taskstream/task-scheduler'
import { describe, expect, test } from 'vitest'
import { at, jobFixture } from '../jobs.ts'

describe('a stop', () => {
  const fixture = () => {
    const all = jobFixture()
    const { clock, job } = all
    /** Takes so long, and lets go when it is asked to. */
    const listening = (ms: number) =>
      job(
        ({ signal }) =>
          new Promise<void>((resolve, reject) => {
            const cancel = clock.after(ms, resolve)
            signal.addEventListener('abort', () => {
              cancel()
              reject(new Error('stopped', { cause: signal.reason }))
            })
          }),
      )
    return { ...all, listening }
  }

  test('begins nothing more, waits for what runs, asks it to let go when the grace is over, and tells what became of it', async () => {
    const { jobs, clock, lasting, listening, seen, log } = fixture()
    jobs.schedule(lasting(300), { intervalMs: 1_000, id: 'short' })
    jobs.schedule(listening(5_000), { intervalMs: 10_000, id: 'long' })
    jobs.schedule(lasting(100_000), { intervalMs: 1_000, id: 'deaf' })
    await clock.pass(100)
    const report = jobs.stop({ graceMs: 1_000, abortMs: 500 })
    expect(jobs.running()).toEqual([])
    await clock.pass(1_500)
    const fire = (id: string) => ({ id, scheduledFor: at(0), count: 1 })
    expect(await report).toEqual({ finished: [fire('short')], aborted: [fire('long')], abandoned: [fire('deaf')] })
    expect(seen).toHaveLength(3)
    // Letting go is no failure.
    expect(log).toEqual([])
  })

  test.each<[string, (reason: unknown) => unknown]>([
    ['the reason itself', (reason) => reason],
    ['an error that it caused', (reason) => new Error('aborted', { cause: reason })],
  ])('takes %s for no failure; what else is thrown then is one', async (_, thrown) => {
    const { jobs, clock, log } = fixture()
    const work = (answer: typeof thrown): ClockJobFunction => {
      return ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(answer(signal.reason)))
        })
    }
    jobs.schedule(work(thrown), { intervalMs: 1_000, id: 'a' })
    jobs.schedule(
      work(() => new Error('broken')),
      { intervalMs: 1_000, id: 'b' },
    )
    await clock.pass(0)
    await jobs.stop({ graceMs: 0 })
    expect(log.map(({ message }) => message)).toEqual(['Job "b" failed: broken'])
  })

  test('has signals aborted with SHUTDOWN as the reason', async () => {
    const { jobs, clock } = fixture()
    const reasons: unknown[] = []
    const work = ({ signal }: { signal: AbortSignal }): Promise<void> =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          reasons.push(signal.reason)
          resolve()
        })
      })
    jobs.schedule(work, { intervalMs: 1_000 })
    await clock.pass(0)
    await jobs.stop({ graceMs: 0 })
    expect(reasons).toEqual([expect.objectContaining({ code: 'SHUTDOWN' })])
  })

  test('without grace asks at once, also when a stop with grace is under way', async () => {
    const { jobs, clock, listening } = fixture()
    jobs.schedule(listening(5_000), { intervalMs: 10_000, id: 'long' })
    await clock.pass(100)
    const graceful = jobs.stop({ graceMs: 3_600_000 })
    await clock.pass(1_000)
    const immediate = jobs.stop({ graceMs: 0 })
    expect(await immediate).toMatchObject({ finished: [], aborted: [{ id: 'long' }], abandoned: [] })
    expect(await graceful).toBe(await immediate)
    expect(clock.ms()).toBe(1_100)
  })

  test('ends as soon as nothing runs, and frees everything', async () => {
    const { jobs, clock, lasting } = fixture()
    jobs.schedule(lasting(300), { intervalMs: 1_000 })
    await clock.pass(0)
    const report = jobs.stop()
    await clock.pass(300)
    expect(await report).toMatchObject({ finished: [{ count: 1 }], aborted: [], abandoned: [] })
    expect(clock.waiting.size).toBe(0)
    expect(await new ClockJobScheduler().stop()).toEqual({ finished: [], aborted: [], abandoned: [] })
  })

  test('loses no error: of what runs, of what was abandoned, of what waited to be tried again', async () => {
    const { jobs, clock, job, log } = fixture()
    const failAfter = (ms: number) =>
      job(async () => {
        await new Promise<void>((resolve) => clock.after(ms, resolve))
        throw new Error(`after ${ms}`)
      })
    for (const ms of [0, 300, 2_000]) jobs.schedule(failAfter(ms), { intervalMs: 10_000, id: `job-${ms}`, retry: () => 100 })
    await clock.pass(50)
    const report = jobs.stop({ graceMs: 500, abortMs: 500 })
    await clock.pass(1_000)
    expect(await report).toMatchObject({ finished: [{ id: 'job-300' }], abandoned: [{ id: 'job-2000' }] })
    await clock.pass(1_000)
    expect(log.map(({ message }) => message)).toEqual([
      'Job "job-0" failed: after 0',
      'Job "job-300" failed: after 300',
      'Job "job-2000" failed: after 2000',
    ])
  })

  test('is for good', async () => {
    const { jobs, job } = fixture()
    await jobs.stop()
    const stopped = expect.objectContaining({ code: 'LIFECYCLE' })
    expect(() => jobs.schedule(job(), { intervalMs: 1 })).toThrow(stopped)
    expect(() => jobs.scheduleOnce(job(), at(1))).toThrow(stopped)
    expect(() => jobs.stop({ graceMs: -1 })).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
  })

  test('is what disposing does', async () => {
    const { jobs, clock, lasting } = fixture()
    jobs.schedule(lasting(300), { intervalMs: 1_000 })
    await clock.pass(0)
    let disposed = false
    const disposing = jobs[Symbol.asyncDispose]().then(() => (disposed = true))
    await turn()
    expect(disposed).toBe(false)
    await clock.pass(300)
    await disposing
    expect(jobs.running()).toEqual([])
  })
})
