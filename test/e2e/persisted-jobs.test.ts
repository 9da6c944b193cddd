/** Clock jobs that are kept in the database follow their policies across processes and restarts. */
import { TaskError } from '@taskstream/task-api'
import { fixed, systemClock, TaskNode } from '@taskstream/task-processor'
import type { Clock } from '@taskstream/task-processor'
import { calendar, every, PersistedClockJobs } from '@taskstream/task-scheduler'
import type { ClockJob, ClockJobLogEntry, PersistedClockJobContext, PersistedClockJobsOptions } from '@taskstream/task-scheduler'
import { sql } from '@taskstream/task-sql'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { codeOf, openFixture } from '@taskstream/task-testing/suite'
import type { Fixture } from '@taskstream/task-testing/suite'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction, Subject } from '../subject.ts'

describe.skipIf(!canRun)('persisted jobs', () => {
  let fixture: Fixture<Subject>
  let logged: ClockJobLogEntry[]
  const open: AsyncDisposable[] = []
  beforeEach(async () => {
    fixture = await openFixture(engine)
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
    /** How far the database's clock is ahead of the process's, and options of the node. */
    { aheadMs = 0, ...nodeOptions }: { aheadMs?: number; clock?: Clock } = {},
  ): Promise<PersistedClockJobs<AnyTransaction>> => {
    const { transactions } = fixture.subject
    const repository = fixture.subject.tasks(aheadMs === 0 ? {} : { clock: () => new Date(Date.now() + aheadMs) })
    const jobs = new PersistedClockJobs<AnyTransaction>({
      repository,
      transactions,
      handlers,
      onLog: (entry) => void logged.push(entry),
      ...more,
    })
    const node = new TaskNode({ repository, transactions, ...nodeOptions })
    await jobs.start(node)
    open.push(node, jobs)
    await node.start()
    return jobs
  }

  /** The states of all fires that are stored. */
  const history = (): Promise<string[]> =>
    fixture.commit(async (transaction) => {
      const tasks = await fixture.tasks.page(transaction, 'jobs')
      return tasks.map(({ state }) => state).toSorted()
    })

  test('run as often as they are told, by their grid, and are over then', async () => {
    const fires: PersistedClockJobContext[] = []
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
    const pushed = Promise.withResolvers<void>()
    const jobs = await start({
      fail: async () => {
        count++
        await pushed.promise
        throw new Error('of the job')
      },
    })
    await jobs.schedule('fail', { id: 'a', intervalMs: 5, maxCount: 3, onError })
    await expect.poll(history).toEqual(['active', 'ready', 'ready'])
    pushed.resolve()
    // A task that was pushed before its job ended does not run.
    await expect.poll(history).toEqual(runs === 1 ? ['failed', 'filtered', 'filtered'] : ['failed', 'failed', 'failed'])
    expect(count).toBe(runs)
    await expect.poll(() => jobs.running()).toEqual([])
    await expect.poll(() => logged.length).toBe(lines)
    const message = `Job "a" failed${onError === 'log-and-terminate' ? ' and is unscheduled' : ''}: of the job`
    for (const line of logged) expect(line).toMatchObject({ message, id: 'a' })
  })

  test('whose database is busy when they are to begin are not called failed, and begin later', async () => {
    const tries: number[] = []
    let refused = 0
    let scheduled = false
    const jobs = await start(
      { work: ({ tries: count }: PersistedClockJobContext) => void tries.push(count) },
      {
        transactions: async (work) => {
          const result = await fixture.subject.transactions(work)
          // This is the look-up of the job before it runs.
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
      fail: ({ tries: count }: PersistedClockJobContext) => (tries.push(count), Promise.reject(new Error('once more'))),
    }
    const jobs = await start(failing, { retry: fixed({ tries: 3, afterMs: 1, jitter: 0 }) })
    await jobs.schedule('fail', { id: 'seldom', intervalMs: 3_600_000, onError: 'log-and-terminate' })
    await expect.poll(() => logged.length).toBe(1)
    expect(tries).toEqual([1, 2, 3])
    await jobs.schedule('fail', { id: 'soon', intervalMs: 1, maxCount: 1, onError: 'log-and-terminate' })
    await expect.poll(() => logged.length).toBe(2)
    expect(tries).toEqual([1, 2, 3, 1])
  })

  test.each([-1, 1])(
    'that fail are tried again by the clock of the database, %s hours from that of the process',
    async (hours) => {
      const tries: number[] = []
      const fail = ({ tries: count }: PersistedClockJobContext): never => {
        tries.push(count)
        throw new Error('once more')
      }
      const jobs = await start(
        { fail },
        { retry: ({ tries: count }) => (count < 3 ? 1 : 60_000) },
        { aheadMs: hours * 3_600_000 },
      )
      await jobs.schedule('fail', { id: 'a', intervalMs: 60_000, maxCount: 1 })
      await expect.poll(() => logged.length).toBe(1)
      expect(tries).toEqual([1, 2, 3])
    },
  )

  test('wake the node of their process when they are due', async () => {
    // No timer wakes the node, so it polls only when it is told to.
    const clock = { ...systemClock, after: () => () => {} }
    let count = 0
    const jobs = await start({ count: () => void count++ }, {}, { clock })
    await jobs.schedule('count', { id: 'a', intervalMs: 100 })
    await expect.poll(() => count).toBeGreaterThan(2)
  })

  test('that are too late are dropped with all that were missed, and logged where they say so', async () => {
    const fires: PersistedClockJobContext[] = []
    const count = (context: PersistedClockJobContext): void => void fires.push(context)
    const first = await start({ count }, { waitingTimeMs: 30_000 })
    await first.stop()
    const timer = every('PT1S')
    await first.schedule('count', { id: 'ignore', timer, whenLate: 'ignore' })
    await first.schedule('count', { id: 'log', timer, whenLate: 'log-and-ignore' })
    const began = Date.now()
    const missed = new Date(Math.floor(began / 1_000) * 1_000 - 60_000)
    const setBack = fixture.tasks.verb(function* ({ dialect }) {
      const instant = dialect.expr.instant(sql`${missed.getTime()}`)
      yield sql`update ${dialect.tables.periodic} set occurrence = ${instant}, due = ${instant}`
    })
    await fixture.commit((transaction) => setBack(transaction) as unknown)
    await start({ count })
    await expect.poll(() => new Set(fires.map(({ id }) => id)).size).toBe(2)
    // No missed occurrence is made up for, although some were hardly late.
    for (const { scheduledFor } of fires) expect(scheduledFor.getTime()).toBeGreaterThanOrEqual(began)
    await expect.poll(() => logged).toMatchObject([{ id: 'log', scheduledFor: missed }])
    expect(logged[0]!.message).toMatch(`Job "log" missed its time ${missed.toISOString()}: it goes on at `)
  })

  test('leave no history for ever', async () => {
    const handlers = {
      work: () => {},
      fail: () => {
        throw new Error('of the job')
      },
    }
    const first = await start(handlers)
    for (const handler of ['work', 'fail']) await first.schedule(handler, { id: handler, intervalMs: 1, maxCount: 1 })
    await expect.poll(history).toEqual(['failed', 'succeeded'])
    await first.stop()
    const day = 86_400_000
    await (await start(handlers, { retainMs: {} }, { aheadMs: 40 * day })).stop()
    expect(await history()).toEqual(['failed', 'succeeded'])
    await start(handlers, {}, { aheadMs: 2 * day })
    await expect.poll(history).toEqual(['failed'])
    await start(handlers, {}, { aheadMs: 40 * day })
    await expect.poll(history).toEqual([])
  })

  test('are refused with options that are none, by name', () => {
    const { transactions } = fixture.subject
    const good = { repository: fixture.tasks, transactions, handlers: { work: () => {} } }
    for (const [argument, bad] of [
      ['repository', { repository: undefined }],
      ['transactions', { transactions: {} }],
      ['handlers', { handlers: undefined }],
      ['handlers.work', { handlers: { work: 'work' } }],
      ['topic', { topic: '' }],
      ['topic', { topic: 'x'.repeat(201) }],
      ['workers', { workers: 0 }],
      ['workers', { workers: 1_001 }],
      ['workers', { workers: 1.5 }],
      ['waitingTimeMs', { waitingTimeMs: -1 }],
      ['retry', { retry: 3 }],
      ['notifier', { notifier: () => {} }],
      ['onLog', { onLog: 'stderr' }],
      ['retainMs', { retainMs: { ready: 1 } }],
      ['retainMs.succeeded', { retainMs: { succeeded: -1 } }],
    ] as const) {
      const make = (): unknown => new PersistedClockJobs<AnyTransaction>({ ...good, ...bad } as never)
      expect(make, argument).toThrow(
        expect.objectContaining({ code: 'ARGUMENT_INVALID', data: expect.objectContaining({ argument }) }),
      )
    }
  })

  test('that are stopped while they start do not run, and keep their topic from nobody', async () => {
    const { transactions } = fixture.subject
    const repository = fixture.subject.tasks()
    const jobs = new PersistedClockJobs<AnyTransaction>({
      repository,
      transactions,
      handlers: { count: () => {} },
      topic: 'begun',
    })
    const node = new TaskNode({ repository, transactions })
    open.push(node)
    await node.start()
    const starting = jobs.start(node)
    const stopping = jobs.stop()
    expect(await codeOf(() => starting)).toBe('LIFECYCLE')
    await stopping
    const manager = node.process('other', { handler: () => new Map() })
    expect(await codeOf(() => jobs.start(node))).toBe('LIFECYCLE')
    await expect.poll(() => manager.isActive).toBe(true)
    // The loop of the jobs' own topic has ended, and another takes its tasks.
    const second = new TaskNode({ repository: fixture.subject.tasks(), transactions })
    open.push(second)
    const taken = Promise.withResolvers<string>()
    second.process('begun', { idleMs: 20, handler: (batch) => (taken.resolve(batch[0]!.identifier), new Map()) })
    await second.start()
    await transactions((transaction) => repository.push(transaction, 'begun', 'a'))
    expect(await taken.promise).toBe('a')
  })

  test('rest while they are paused, and are gone when they are unscheduled', async () => {
    const runs = { a: 0, b: 0 }
    const jobs = await start({ count: ({ id }) => void runs[id as keyof typeof runs]++ })
    const infoOfA = async (): Promise<ClockJob> => (await jobs.running()).find(({ id }) => id === 'a')!
    await jobs.schedule('count', { id: 'a', intervalMs: 10 })
    await jobs.schedule('count', { id: 'b', intervalMs: 10 })
    await expect.poll(() => runs.a).toBeGreaterThan(0)
    await jobs.pause('a')
    const paused = await infoOfA()
    expect(paused).toMatchObject({ id: 'a', paused: true })
    const before = runs.b
    await expect.poll(() => runs.b).toBeGreaterThanOrEqual(before + 10)
    expect(await infoOfA()).toEqual(paused)
    // What was pushed before the pause may run after it.
    expect(runs.a).toBeLessThanOrEqual(paused.count)
    await jobs.resumeAll()
    await expect.poll(() => runs.a).toBeGreaterThan(paused.count)
    for (const id of ['a', 'b']) await jobs.unschedule(id)
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
