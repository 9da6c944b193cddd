/** Persisted clock jobs let go when they are asked to, end at their end, and run once if they should. */
import { once } from 'node:events'
import { fixed, TaskNode } from '@taskstream/task-processor'
import { calendar, PersistedClockJobs } from '@taskstream/task-scheduler'
import type { ClockJobLogEntry, PersistedClockJobContext, PersistedClockJobsOptions } from '@taskstream/task-scheduler'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openFixture } from '@taskstream/task-testing/suite'
import type { Fixture } from '@taskstream/task-testing/suite'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction, Subject } from '../subject.ts'

const day = 86_400_000

describe.skipIf(!canRun)('a persisted job', () => {
  let fixture: Fixture<Subject>
  let logged: ClockJobLogEntry[]
  /** The time of the database's clock. */
  let now: Date
  const open: AsyncDisposable[] = []
  beforeEach(async () => {
    now = new Date('2026-01-01T12:00:00Z')
    fixture = await openFixture(engine, () => now)
    logged = []
  })
  afterEach(async () => {
    for (const each of open.splice(0).toReversed()) await each[Symbol.asyncDispose]()
    await fixture[Symbol.asyncDispose]()
  })

  /** Starts jobs and a node, as a process does. */
  const start = async (
    handlers: PersistedClockJobsOptions<AnyTransaction, never>['handlers'],
    more: Partial<PersistedClockJobsOptions<AnyTransaction, never>> = {},
  ): Promise<{ readonly jobs: PersistedClockJobs<AnyTransaction>; readonly node: TaskNode<AnyTransaction> }> => {
    const { transactions } = fixture.subject
    const repository = fixture.subject.tasks({ clock: () => now })
    const onLog = (entry: ClockJobLogEntry): void => void logged.push(entry)
    const jobs = new PersistedClockJobs<AnyTransaction>({ repository, transactions, handlers, onLog, ...more })
    const node = new TaskNode({ repository, transactions })
    await jobs.start(node)
    open.push(node, jobs)
    await node.start()
    return { jobs, node }
  }
  const later = (ms: number): Date => new Date(now.getTime() + ms)
  const inJobs = async (): Promise<unknown> =>
    (await fixture.commit((transaction) => fixture.tasks.page(transaction, 'jobs'))).map(({ state, tries }) => [state, tries])

  test('hears of the stop of its node by its signal; it has not failed then, and is run again by another process as if never begun', async () => {
    const begun = Promise.withResolvers<void>()
    const reasons: unknown[] = []
    const first = await start({
      work: async ({ signal }: PersistedClockJobContext) => {
        begun.resolve()
        await once(signal, 'abort')
        reasons.push((signal.reason as { code?: string }).code)
        throw new Error('not done')
      },
    })
    // If it counted as failed, its policy would end the job and log that.
    await first.jobs.schedule('work', { id: 'a', intervalMs: day, onError: 'log-and-terminate' })
    now = later(1_000)
    await first.jobs.schedule('work', { id: 'far', timer: calendar('2199-12-31') })
    await begun.promise
    const report = await first.node.stop({ graceMs: 0, abortMs: 60_000 })
    expect([report.returned.map(({ identifier }) => identifier), reasons]).toEqual([['a'], ['SHUTDOWN']])
    expect([await inJobs(), logged]).toEqual([[['ready', 0]], []])
    const tries: number[] = []
    const second = await start({ work: ({ tries: count }: PersistedClockJobContext) => void tries.push(count) })
    await expect.poll(inJobs).toEqual([['succeeded', 1]])
    expect([tries, (await second.jobs.running()).map(({ id }) => id)]).toEqual([[1], ['a', 'far']])
  })

  test('does not fire after its end, however late its fires are made up for, and is over then', async () => {
    const fires: number[] = []
    const { jobs } = await start({
      work: ({ scheduledFor }: PersistedClockJobContext) => void fires.push(scheduledFor.getTime()),
    })
    const from = later(1_000)
    await jobs.schedule('work', { id: 'a', intervalMs: 1_000, start: from, end: new Date(from.getTime() + 2_500) })
    // The clock moves by less than the node's lease.
    now = later(20_000)
    // Any new job makes the scheduler look.
    await jobs.schedule('work', { id: 'far', timer: calendar('2199-12-31') })
    await expect.poll(async () => (await jobs.running()).map(({ id }) => id)).toEqual(['far'])
    await expect.poll(() => fires.length).toBe(3)
    expect(fires.map((at) => at - from.getTime())).toEqual([0, 1_000, 2_000])
    await expect.poll(inJobs).toEqual(Array.from({ length: 3 }, () => ['succeeded', 1]))
  })

  test('that is to run once does so at its time, not before, and is over then', async () => {
    const fires: Date[] = []
    const { jobs } = await start({ work: ({ scheduledFor }: PersistedClockJobContext) => void fires.push(scheduledFor) })
    const [first, at] = [later(1_000), later(2_000)]
    await jobs.schedule('work', { id: 'first', intervalMs: day, start: first, maxCount: 1 })
    expect(await jobs.scheduleOnce('work', at, { id: 'once' })).toMatchObject({ id: 'once', next: at })
    // Any new job makes the scheduler look.
    now = later(1_999)
    await jobs.schedule('work', { id: 'far', timer: calendar('2199-12-31') })
    await expect.poll(() => fires).toEqual([first])
    now = at
    await jobs.schedule('work', { id: 'farther', timer: calendar('2199-12-31') })
    await expect.poll(async () => (await jobs.running()).map(({ id }) => id)).toEqual(['far', 'farther'])
    await expect.poll(() => fires).toEqual([first, at])
  })

  test.each([
    ['is not tried again once its end has come', 3_000, 1, 'failed'],
    ['is tried again before its end', 7_000, 2, 'succeeded'],
  ] as const)('that fails %s', async (_, endMs, runs, state) => {
    const tries: number[] = []
    const { jobs } = await start(
      {
        fail: ({ tries: count }: PersistedClockJobContext) => {
          tries.push(count)
          if (count === 1) throw new Error('once more')
        },
      },
      { retry: fixed({ tries: 9, afterMs: 5_000, jitter: 0 }) },
    )
    const from = later(1_000)
    await jobs.schedule('fail', {
      id: 'a',
      intervalMs: 60_000,
      start: from,
      end: new Date(from.getTime() + endMs),
      onError: 'log-and-continue',
    })
    now = from
    await jobs.schedule('fail', { id: 'far', timer: calendar('2199-12-31') })
    await expect.poll(() => tries).toEqual([1])
    // A task that waits for its next try is suspended.
    await expect.poll(inJobs).toEqual([[runs === 1 ? 'failed' : 'suspended', 1]])
    now = later(5_000)
    await expect.poll(inJobs).toEqual([[state, runs]])
    expect([tries.length, logged.length]).toEqual([runs, runs === 1 ? 1 : 0])
  })
})
