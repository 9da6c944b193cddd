/** The limits of a queue hold over all processes together: on jobs at a time, on a rate, on what waits; and what fails has a copy elsewhere. */
import { TaskError } from '@taskstream/task-api'
import type { Execution } from '@taskstream/task-api'
import { bound } from '@taskstream/task-processor'
import { thrownBy } from '@taskstream/task-testing/suite'
import { defineJob, defineQueue, json, never, Stream } from 'taskstream'
import type { HandleOptions, Job } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'
import type { TestStream } from './job-fixture.ts'

describe.skipIf(!canRun)('a limit of jobs', () => {
  const fixture = useJobFixture()

  /** Jobs that note how many of them run at a time, in both streams together. */
  const counting = (job: Job<string, number>): { readonly most: () => number; readonly open: () => Promise<AsyncDisposable> } => {
    let running = 0
    let most = 0
    return {
      most: () => most,
      open: async () => {
        const stream = fixture.streamOf()
        stream.handle(job, async () => {
          most = Math.max(most, ++running)
          await new Promise((resolve) => setTimeout(resolve, 5))
          running--
        })
        await stream.start()
        return stream
      },
    }
  }

  test('on jobs at a time is kept by two processes together, and both get on', async () => {
    const job = defineJob('limited-total', { input: json<number>(), limits: { total: 3 } })
    const { most, open } = counting(job)
    await using pushing = fixture.streamOf()
    await pushing.prepare(job)
    await pushing.transaction((transaction) =>
      pushing.pushMany(
        transaction,
        job,
        Array.from({ length: 40 }, (_, index) => [index]),
      ),
    )
    await using _one = await open()
    await using _other = await open()
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: 40 })
    expect(most()).toBeLessThanOrEqual(3)
    expect(most()).toBeGreaterThan(1)
  })

  test('on jobs at a time of a process that has stopped is free for the others', async () => {
    const job = defineJob('limited-stopped', { input: json<number>(), limits: { total: 1 } })
    const { open } = counting(job)
    await using pushing = fixture.streamOf()
    await pushing.prepare(job)
    await pushing.submit(job, 1)
    const first = await open()
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: 1 })
    await first[Symbol.asyncDispose]()
    await pushing.submit(job, 2)
    await using _second = await open()
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: 2 })
  })

  describe('on jobs at a time is for others, while a process', () => {
    const handledBy = (stream: TestStream, job: Job<string, number>, options: HandleOptions<AnyTransaction> = {}): number[] => {
      const handled: number[] = []
      stream.handle(job, ({ input }) => void handled.push(input), options)
      return handled
    }

    test('waits for its limiter, which jobs of other queues have', async () => {
      const job = defineJob('limited-waits', { input: json<number>(), limits: { total: 1 } })
      const long = defineJob('limited-waits-long', {})
      await using waiting = fixture.streamOf({ limiter: bound(1) })
      const before = handledBy(waiting, job, { idleMs: 5 })
      const { promise: ending, resolve: end } = Promise.withResolvers<void>()
      let isLong = false
      waiting.handle(long, async () => {
        isLong = true
        await ending
      })
      await waiting.start()
      await waiting.submit(job, 1)
      await expect.poll(() => before).toEqual([1])
      await waiting.submit(long)
      await expect.poll(() => isLong).toBe(true)
      await using stream = fixture.streamOf()
      const after = handledBy(stream, job)
      await stream.start()
      await stream.submit(job, 2)
      await expect.poll(() => after).toEqual([2])
      end()
    })

    test('is refused its polls', async () => {
      const job = defineJob('limited-refused', { input: json<number>(), limits: { total: 1 } })
      const repository = fixture.subject.tasks()
      let refusals = 0
      const refusing = new Proxy(repository, {
        get: (target, name) => {
          const value = Reflect.get(target, name) as unknown
          if (name !== 'poll') return typeof value === 'function' ? (value.bind(target) as unknown) : value
          return async () => {
            refusals++
            throw new TaskError('PERMISSION_DENIED', 'refused', {})
          }
        },
      })
      await using refused = new Stream<AnyTransaction, Execution>(
        { repository: refusing, transactions: fixture.subject.transactions },
        { heartbeatIntervalMs: 50, leaseMs: 10_000, maintenanceIntervalMs: 20, migrate: false, listener: {} },
      )
      handledBy(refused, job)
      await refused.start()
      await expect.poll(() => refusals).toBeGreaterThan(0)
      await using stream = fixture.streamOf()
      const handled = handledBy(stream, job)
      await stream.start()
      await stream.submit(job, 1)
      await expect.poll(() => handled).toEqual([1])
    })
  })

  test('on a rate is kept, and lets as many pass as have gathered', async () => {
    const job = defineJob('limited-rate', { input: json<number>(), limits: { rate: { count: 5, perMs: 3_600_000 } } })
    const { open } = counting(job)
    await using pushing = fixture.streamOf()
    await pushing.prepare(job)
    await pushing.transaction((transaction) =>
      pushing.pushMany(
        transaction,
        job,
        Array.from({ length: 8 }, (_, index) => [index]),
      ),
    )
    await using _one = await open()
    await using _other = await open()
    await expect.poll(() => fixture.states(job)).toEqual({ ready: 3, succeeded: 5 })
    // Whoever needs it at three in the morning changes it, and loops that run follow.
    await pushing.transaction((transaction) => pushing.tasks.limit(transaction, job.name, {}))
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: 8 })
  })

  test('on a rate that is raised is followed by those who wait for the old one', async () => {
    const job = defineJob('limited-raised', { input: json<number>(), limits: { rate: { count: 1, perMs: 86_400_000 } } })
    await using stream = fixture.streamOf()
    stream.handle(job, () => {})
    await stream.start()
    await stream.transaction((transaction) => stream.pushMany(transaction, job, [[1], [2], [3]]))
    await expect.poll(() => fixture.states(job)).toEqual({ ready: 2, succeeded: 1 })
    await stream.transaction((transaction) => stream.tasks.limit(transaction, job.name, { rate: { count: 1_000, perMs: 1_000 } }))
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: 3 })
  })

  test('on entries refuses a push and a submission, and takes others when some have ended', async () => {
    const queue = defineQueue('limited-entries', { limits: { maxEntries: { count: 2 } } })
    const job = defineJob('limited-entries:job', { queue, input: json<number>() })
    await using pushing = fixture.streamOf()
    await pushing.prepare(job)
    await pushing.submit(job, 1)
    const two = pushing.transaction((transaction) => pushing.pushMany(transaction, job, [[2], [3]]))
    await expect(two).rejects.toMatchObject({ code: 'TOPIC_FULL' })
    await pushing.submit(job, 2)
    expect(await thrownBy(() => pushing.submit(job, 3))).toMatchObject({ code: 'TOPIC_FULL', data: { entries: 2, count: 2 } })
    await using stream = fixture.streamOf()
    stream.handle(job, () => {})
    await stream.start()
    await expect.poll(() => fixture.states(queue)).toEqual({ succeeded: 2 })
    await pushing.submit(job, 3)
    await expect.poll(() => fixture.states(queue)).toEqual({ succeeded: 3 })
  })

  test('with dead letters hands the failed job to another queue, whose routes are given its name and input', async () => {
    const dead = defineQueue('limited-dead', { order: 'priority' })
    const queue = defineQueue('limited-alive', { retry: never, limits: { deadLetter: dead } })
    const job = defineJob('limited:fails', { queue, input: json<{ id: number }>() })
    const heard: unknown[] = []
    await using stream = fixture.streamOf()
    stream.handle(job, () => {
      throw new Error('no')
    })
    stream.route(dead, { '*': ({ name, input, task }) => void heard.push([name, input, task.headers?.['dead']]) })
    await stream.start()
    const { sequence } = await stream.submit(job, { id: 7 })
    await expect.poll(() => heard).toEqual([['limited:fails', { id: 7 }, { topic: 'limited-alive', sequence }]])
    expect(await fixture.states(queue)).toEqual({ failed: 1 })
  })

  test('with dead letters hands a failed job that shares no queue to routes by its own name', async () => {
    const dead = defineQueue('limited-dead-alone')
    const job = defineJob('limited-alone', { input: json<{ id: number }>(), retry: never, limits: { deadLetter: dead } })
    const other = defineJob('limited-alone-other', { retry: never, limits: { deadLetter: dead } })
    const heard: unknown[] = []
    await using stream = fixture.streamOf()
    const fail = (): never => {
      throw new Error('no')
    }
    stream.handle(job, fail)
    stream.handle(other, fail)
    stream.route(dead, {
      '*': ({ name, input }) => void heard.push(['*', name, input]),
      'limited-alone-other': ({ name, input }) => void heard.push(['exact', name, input]),
    })
    await stream.start()
    await stream.submit(job, { id: 7 })
    await expect.poll(() => heard).toEqual([['*', 'limited-alone', { id: 7 }]])
    await stream.submit(other)
    await expect.poll(() => heard.slice(1)).toEqual([['exact', 'limited-alone-other', undefined]])
  })

  test('of no time at all on what is kept deletes jobs with their success', async () => {
    const job = defineJob('limited-kept', { input: json<number>() })
    await using stream = fixture.streamOf()
    const handled: number[] = []
    stream.handle(job, ({ input, commit }) => (input % 2 ? commit(() => void handled.push(input)) : void handled.push(input)), {
      retainMs: { succeeded: 0 },
    })
    await stream.start()
    await stream.transaction((transaction) => stream.pushMany(transaction, job, [[1], [2], [3], [4]]))
    await expect.poll(() => handled.toSorted()).toEqual([1, 2, 3, 4])
    await expect.poll(() => fixture.page(job)).toEqual([])
  })

  test('of a queue gives its jobs their tries and times, unless they have their own', async () => {
    const queue = defineQueue('limited-defaults', { maxTries: 2, timeoutMs: 5_000, deadlineMs: 60_000 })
    const plain = defineJob('limited-defaults:plain', { queue })
    const own = defineJob('limited-defaults:own', { queue, maxTries: 3, timeoutMs: 1_000, deadlineMs: 1_000 })
    expect(plain.settings).toMatchObject({ maxTries: 2, timeoutMs: 5_000, deadlineMs: 60_000 })
    expect(own.settings).toMatchObject({ maxTries: 3, timeoutMs: 1_000, deadlineMs: 1_000 })
    await using stream = fixture.streamOf()
    await stream.prepare(plain)
    const ref = await stream.submit(plain)
    const [task] = await fixture.page(queue)
    expect(task).toMatchObject({ sequence: ref.sequence, maxTries: 2 })
    expect(task!.deadline!.getTime() - task!.created.getTime()).toBe(60_000)
  })

  test('that is stored counts before that of the definition, and whoever starts is told', async () => {
    const before = defineJob('limited-stored', { input: json<number>(), limits: { total: 1 } })
    const after = defineJob('limited-stored', { input: json<number>(), limits: { total: 9 } })
    await using first = fixture.streamOf()
    await first.prepare(before)
    const told: unknown[] = []
    await using stream = fixture.streamOf({ listener: { onError: ({ error }) => void told.push(error) } })
    stream.handle(after, () => {})
    await stream.start()
    expect(told).toMatchObject([{ code: 'LIMITS_DIFFERENT', data: { stored: { total: 1 }, given: { total: 9 } } }])
  })

  test.each<readonly [name: string, define: () => unknown, message: RegExp]>([
    ['of no jobs', () => defineJob('refused', { limits: { total: 0 } }), /total .*: 0/],
    ['that is no object', () => defineQueue('refused', { limits: 3 as never }), /limits must be an object/],
    [
      'of a job in a queue',
      () => defineJob('refused', { queue: defineQueue('own'), limits: { total: 1 } }),
      /limits of the job "refused" are up to its queue "own"/,
    ],
    [
      'whose dead letters come back',
      () => defineQueue('refused', { limits: { deadLetter: 'refused' } }),
      /deadLetter must be another topic/,
    ],
    [
      'whose dead letters go to no queue',
      () => defineQueue('refused', { limits: { deadLetter: {} as never } }),
      /deadLetter must be made by defineQueue/,
    ],
    [
      'whose dead letters have no name',
      () => defineQueue('refused', { limits: { deadLetter: 5 as never } }),
      /deadLetter must be a string: 5/,
    ],
    [
      'on a rate without a time',
      () => defineQueue('refused', { limits: { rate: 20 as never } }),
      /rate must be an object, such as { count: 100, perMs: 60_000 }: 20/,
    ],
    [
      'on a rate of another time',
      () => defineQueue('refused', { limits: { rate: { count: 20, perMinute: 1 } as never } }),
      /rate\.perMinute is no option of a rate: it has count, perMs/,
    ],
    [
      'on a rate of no time',
      () => defineQueue('refused', { limits: { rate: { count: 20, perMs: 0 } } }),
      /rate.perMs must be a whole number from 1 to 86400000: 0/,
    ],
    [
      'on entries that are only counted',
      () => defineQueue('refused', { limits: { maxEntries: 100 as never } }),
      /maxEntries must be an object, such as { count: 1_000, whenFull: 'reject' }: 100/,
    ],
    [
      'on entries with a misspelt option',
      () => defineQueue('refused', { limits: { maxEntries: { count: 100, whenfull: 'reject' } as never } }),
      /whenfull is no option of maxEntries: did you mean whenFull/,
    ],
    ['on a time that is none', () => defineQueue('refused', { timeoutMs: 0 }), /timeoutMs .*: 0/],
  ])('%s is refused by name', async (_, define, message) => {
    expect(await thrownBy(define)).toMatchObject({ code: 'ARGUMENT_INVALID', message: expect.stringMatching(message) as string })
  })
})
