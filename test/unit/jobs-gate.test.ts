/** A gate lets the fires of clock jobs begin, or passes them over: then they do not count. */
import { fixed } from '@taskstream/task-processor'
import type { ClockJobFire, ClockJobGate } from '@taskstream/task-scheduler'
import { describe, expect, test } from 'vitest'
import { epochMs, jobFixture } from '../jobs.ts'

/** Lets fires begin from this time on. */
function openFrom(ms: number): { readonly gate: ClockJobGate; readonly asked: number[]; readonly abort: AbortController } {
  const asked: number[] = []
  const abort = new AbortController()
  const gate = ({ scheduledFor }: ClockJobFire): AbortSignal | undefined => {
    const dueMs = scheduledFor.getTime() - epochMs
    asked.push(dueMs)
    return dueMs >= ms ? abort.signal : undefined
  }
  return { gate, asked, abort }
}

describe('a gate', () => {
  test('is asked before each fire, and one that it passes over does not count and is not logged', async () => {
    const { gate, asked } = openFrom(3_000)
    const { jobs, clock, job, seen, log } = jobFixture({ gate })
    jobs.schedule(job(), { intervalMs: 1_000, id: 'print', maxCount: 2 })
    await clock.pass(10_000)
    expect(asked).toEqual([0, 1_000, 2_000, 3_000, 4_000])
    expect(seen.map(({ count, dueMs }) => [count, dueMs])).toEqual([
      [1, 3_000],
      [2, 4_000],
    ])
    expect(log).toEqual([])
    expect(jobs.running()).toEqual([])
  })

  test('passes over the only fire of a job, which then has another', async () => {
    const { gate } = openFrom(1_000)
    const { jobs, clock, job, seen } = jobFixture({ gate })
    jobs.schedule(job(), { intervalMs: 1_000, id: 'print', maxCount: 1 })
    await clock.pass(5_000)
    expect(seen.map(({ count, dueMs }) => [count, dueMs])).toEqual([[1, 1_000]])
  })

  test('that passes over fires which overlap lets no time begin twice', async () => {
    const answers: ((signal?: AbortSignal) => void)[] = []
    const gate: ClockJobGate = () => new Promise((resolve) => answers.push(resolve))
    const { jobs, clock, job, seen } = jobFixture({ gate })
    jobs.schedule(job(), { intervalMs: 1_000, id: 'print', maxCount: 3, overlap: 'allow' })
    await clock.pass(10_000)
    const [first, ...others] = answers
    const { signal } = new AbortController()
    first?.()
    await clock.pass(10)
    for (const open of [...others, ...answers.slice(3)]) open(signal)
    await clock.pass(10_000)
    expect(seen.map(({ dueMs }) => dueMs)).toEqual([1_000, 2_000, 3_000])
  })

  test('may answer later, and a job that is unscheduled meanwhile does not begin', async () => {
    const { promise, resolve } = Promise.withResolvers<AbortSignal>()
    const { jobs, clock, job, seen } = jobFixture({ gate: () => promise })
    jobs.schedule(job(), { intervalMs: 1_000, id: 'kept', maxCount: 1 })
    jobs.schedule(job(), { intervalMs: 1_000, id: 'gone', maxCount: 1 })
    await clock.pass(10)
    expect(seen).toEqual([])
    jobs.unschedule('gone')
    resolve(new AbortController().signal)
    await clock.pass(10)
    expect(seen.map(({ id }) => id)).toEqual(['kept'])
  })

  test('that throws lets nothing begin, and the job stays scheduled', async () => {
    let away = true
    const gate = (): AbortSignal => {
      if (away) throw new Error('the database is away')
      return new AbortController().signal
    }
    const { jobs, clock, job, seen, log } = jobFixture({ gate })
    jobs.schedule(job(), { intervalMs: 1_000, id: 'print' })
    await clock.pass(500)
    away = false
    await clock.pass(1_000)
    expect(log.map(({ message }) => message)).toEqual([
      'Job "print" does not begin: whether it may is not known: the database is away',
    ])
    expect(seen.map(({ count, dueMs }) => [count, dueMs])).toEqual([[1, 1_000]])
  })

  test('that closes aborts what runs, and no policy counts for what that throws then', async () => {
    const { gate, abort } = openFrom(0)
    const { jobs, clock, job, log } = jobFixture({ gate })
    jobs.schedule(
      job(async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        throw new Error('the connection was closed')
      }),
      { intervalMs: 1_000, id: 'print', retry: fixed({ tries: 3, afterMs: 100, jitter: 0 }) },
    )
    await clock.pass(500)
    abort.abort(new Error('another node leads'))
    await clock.pass(100)
    expect(log).toEqual([])
    expect(jobs.running().map(({ id }) => id)).toEqual(['print'])
  })

  test('that closes ends a fire that waits for its retry', async () => {
    const { gate, abort } = openFrom(0)
    const { jobs, clock, job, seen, log } = jobFixture({ gate })
    jobs.schedule(
      job(() => Promise.reject(new Error('no paper'))),
      { intervalMs: 1_000, id: 'print', maxCount: 1, retry: fixed({ tries: 3, afterMs: 100, jitter: 0 }) },
    )
    await clock.pass(50)
    abort.abort(new Error('another node leads'))
    await clock.pass(5_000)
    expect(seen).toHaveLength(1)
    expect(log).toEqual([])
    expect(jobs.running()).toEqual([])
  })

  test('must be a function', () => {
    expect(() => jobFixture({ gate: true as never })).toThrow('gate')
  })
})
