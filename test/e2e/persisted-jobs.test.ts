/** Jobs that are kept in the database: the policies of jobs, across processes and restarts. */
import { TaskError } from '@taskstream/task-api'
import { fixed, TaskNode } from '@taskstream/task-processor'
import { calendar, PersistedJobs } from '@taskstream/task-scheduler'
import type { JobLogEntry, PersistedJobContext, PersistedJobsOptions } from '@taskstream/task-scheduler'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { codeOf, openFixture } from '../conformance/fixture.ts'
import type { Fixture } from '../conformance/fixture.ts'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'

describe.skipIf(!canRun)('persisted jobs', () => {
  let fixture: Fixture
  let logged: JobLogEntry[]
  const open: AsyncDisposable[] = []
  beforeEach(async () => {
    fixture = await openFixture()
    logged = []
  })
  afterEach(async () => {
    for (const each of open.splice(0).toReversed()) await each[Symbol.asyncDispose]()
    await fixture[Symbol.asyncDispose]()
  })

  /** As a process has it that starts. */
  const start = async (
    handlers: PersistedJobsOptions<AnyTransaction, never>['handlers'],
    more: Partial<PersistedJobsOptions<AnyTransaction, never>> = {},
  ): Promise<PersistedJobs<AnyTransaction>> => {
    const { transactions } = fixture.subject
    const repository = fixture.subject.tasks()
    const jobs = new PersistedJobs<AnyTransaction>({
      repository,
      transactions,
      handlers,
      onLog: (entry) => void logged.push(entry),
      ...more,
    })
    const node = new TaskNode({ repository, transactions })
    await jobs.start(node)
    open.push(node, jobs)
    await node.start()
    return jobs
  }

  test('run as often as they are told, by their grid, and are over then', async () => {
    const fires: PersistedJobContext[] = []
    const jobs = await start({ count: (context) => void fires.push(context) })
    const job = await jobs.schedule('count', { id: 'a', intervalMs: 20, maxCount: 3 })
    expect(job).toMatchObject({ id: 'a', count: 0, paused: false })
    await expect.poll(() => fires.length).toBe(3)
    const [first] = fires
    expect(fires.map(({ scheduledFor }) => scheduledFor.getTime() - first!.scheduledFor.getTime())).toEqual([0, 20, 40])
    expect(fires.map(({ tries }) => tries)).toEqual([1, 1, 1])
    await expect.poll(() => jobs.running()).toEqual([])
  })

  test('outlive the process that has scheduled them', async () => {
    const first = await start({ never: () => {} })
    await first.schedule('never', { id: 'kept', timer: calendar('2199-12-31'), onError: 'continue' })
    await first.stop()
    const again = await start({ never: () => {} })
    expect(await again.running()).toMatchObject([{ id: 'kept', next: new Date('2199-12-31') }])
  })

  test.each([
    ['log-and-terminate', 1, 1],
    ['terminate', 1, 0],
    ['log-and-continue', 3, 3],
    ['continue', 3, 0],
  ] as const)('that fail go by their policy: %s', async (onError, runs, lines) => {
    let count = 0
    const jobs = await start({
      fail: () => {
        count++
        throw new Error('of the job')
      },
    })
    await jobs.schedule('fail', { id: 'a', intervalMs: 5, maxCount: 3, onError })
    await expect.poll(() => count).toBe(runs)
    await expect.poll(() => jobs.running()).toEqual([])
    await expect.poll(() => logged.length).toBe(lines)
    for (const { message, id } of logged) expect([message, id]).toEqual(['Unable to execute the job "a": of the job', 'a'])
    // What was pushed before the end of a job that is over does not run.
    expect(count).toBe(runs)
  })

  test('whose database is busy when they are to begin are not called failed, and begin later', async () => {
    const tries: number[] = []
    let refused = 0
    let scheduled = false
    const jobs = await start(
      { work: ({ tries: count }: PersistedJobContext) => void tries.push(count) },
      {
        transactions: async (work) => {
          const result = await fixture.subject.transactions(work)
          // What is looked up of the job before it runs.
          if (scheduled && (result as { id?: unknown } | undefined)?.id === 'a' && refused++ === 0)
            throw new TaskError('DATABASE_BUSY', 'no connection is free', { shortOf: 'connections' })
          return result
        },
      },
    )
    await jobs.schedule('work', { id: 'a', intervalMs: 5, maxCount: 1, onError: 'log-and-terminate' })
    scheduled = true
    await expect.poll(() => tries).toEqual([1])
    await expect.poll(() => jobs.running()).toEqual([])
    expect([refused, logged]).toEqual([2, []])
  })

  test('that fail are tried again, but not when their next fire is due', async () => {
    const tries: number[] = []
    const failing = {
      fail: ({ tries: count }: PersistedJobContext) => (tries.push(count), Promise.reject(new Error('once more'))),
    }
    const jobs = await start(failing, { retry: fixed({ tries: 3, afterMs: 1, jitter: 0 }) })
    await jobs.scheduleOnce('fail', new Date(Date.now() + 300), { id: 'once' })
    await expect.poll(() => logged.length).toBe(1)
    expect(tries).toEqual([1, 2, 3])
    await jobs.schedule('fail', { id: 'soon', intervalMs: 1, maxCount: 1, onError: 'log-and-terminate' })
    await expect.poll(() => logged.length).toBe(2)
    expect(tries).toEqual([1, 2, 3, 1])
  })

  test('rest while they are paused, and are gone when they are unscheduled', async () => {
    let count = 0
    const jobs = await start({ count: () => void count++ })
    await jobs.schedule('count', { id: 'a', intervalMs: 10 })
    await expect.poll(() => count).toBeGreaterThan(0)
    await jobs.pause('a')
    expect(await jobs.running()).toMatchObject([{ id: 'a', paused: true }])
    await jobs.resumeAll()
    const before = count
    await expect.poll(() => count).toBeGreaterThan(before)
    await jobs.unschedule('a')
    expect(await jobs.running()).toEqual([])
    for (const verb of ['pause', 'resume', 'unschedule'] as const) expect(await codeOf(() => jobs[verb]('a'))).toBe('JOB_UNKNOWN')
  })

  test('that are none are refused before anything is stored', async () => {
    const jobs = await start({ work: () => {} })
    const timer = calendar('hourly')
    await jobs.schedule('work', { id: 'taken', timer })
    expect(await codeOf(() => jobs.schedule('work', { id: 'taken', timer }))).toBe('JOB_DUPLICATE')
    for (const [handler, options] of [
      ['nobody', { timer }],
      ['work', { intervalMs: 0 }],
      ['work', { timer, maxCount: 0 }],
      ['work', { timer, start: new Date(0) }],
      ['work', { timer, end: new Date(0) }],
      ['work', { timer, onError: 'shrug' as never }],
      ['work', { timer, whenLate: 'shrug' as never }],
    ] as const)
      expect([options, await codeOf(() => jobs.schedule(handler, options))]).toEqual([options, 'ARGUMENT_INVALID'])
    expect(await codeOf(() => jobs.scheduleOnce('work', new Date(0)))).toBe('ARGUMENT_INVALID')
    expect(await jobs.running()).toHaveLength(1)
  })
})
