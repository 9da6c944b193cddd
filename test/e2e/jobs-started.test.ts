/** A stream begins and ends: topics, timers, and what a start or a stop in a bad minute leaves behind. */
import { isTaskError } from '@taskstream/task-api'
import type { TopicOptions } from '@taskstream/task-api'
import type { PeriodicTaskInfo } from '@taskstream/task-scheduler'
import { periodicTasks } from '@taskstream/task-scheduler'
import { codeOf } from '@taskstream/task-testing/suite'
import { defineJob, json, Stream } from 'taskstream'
import type { Job, JobHandler, StreamOptions } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'
import type { TestStream } from './job-fixture.ts'

const nothing = (): void => {}

describe.skipIf(!canRun)('a stream', () => {
  const fixture = useJobFixture()
  const timers = (): Promise<PeriodicTaskInfo[]> =>
    fixture.commit(async (transaction) => periodicTasks(fixture.subject.tasks(), { scope: 'jobs' }).list(transaction))

  test('makes the topics of what it handles known, and of all that may follow, as they are defined', async () => {
    const ping: Job<'ping', number, number, 'pong'> = defineJob('ping', { input: json<number>(), next: () => [pong] })
    const pong = defineJob('pong', { input: json<number>(), next: [ping], key: (n) => `${n}` })
    const single = defineJob('single', { input: json<number>(), key: (n) => `${n}`, ordered: true, order: 'lifo', next: [pong] })
    await using stream = fixture.streamOf()
    stream.handle(single, () => nothing() as never)
    await stream.start()
    const isKnownAs = (topic: string, options: TopicOptions): Promise<unknown> =>
      codeOf(() => fixture.commit((transaction) => fixture.subject.tasks().initialize(transaction, topic, options)))
    expect(await isKnownAs('ping', { order: 'fifo', condition: 'none' })).toBe(false)
    expect(await isKnownAs('ping', { keyed: true })).toBe('TOPIC_NOT_KEYED')
    expect(await isKnownAs('pong', { order: 'fifo', condition: 'none', keyed: true })).toBe(false)
    expect(await isKnownAs('single', { order: 'lifo', condition: 'singular-by-identifier', keyed: true })).toBe(false)
  })

  test('refuses a job that is known by another definition, and can start once it is mended', async () => {
    const before = defineJob('redefined', { input: json<number>() })
    const now = defineJob('redefined', { input: json<number>(), key: (n) => `${n}` })
    await using stream = fixture.streamOf()
    await stream.prepare(before)
    stream.handle(now, nothing)
    expect(await codeOf(() => stream.prepare(now))).toBe('TOPIC_NOT_KEYED')
    await expect(stream.prepare(now)).rejects.toThrow(/^The job "redefined" is known in this database without a key/)
    expect(await codeOf(() => stream.start())).toBe('TOPIC_NOT_KEYED')
    await fixture.commit((transaction) => fixture.subject.tasks().destroy(transaction, 'redefined'))
    await stream.start()
    await stream.submit(now, 1)
    await expect.poll(() => fixture.states(now)).toEqual({ succeeded: 1 })
  })

  test('migrates the tables before it starts, unless it is told not to', async () => {
    const asked: boolean[] = []
    const { subject } = fixture
    for (const migrate of [true, false]) {
      const repository = subject.tasks()
      await using stream = new Stream<AnyTransaction, 'async'>(
        {
          repository: Object.assign(Object.create(repository) as typeof repository, {
            migrate: async () => void asked.push(migrate),
          }) as never,
          transactions: subject.transactions,
        },
        { listener: {}, migrate },
      )
      await stream.prepare(defineJob('migrating'))
      await stream.prepare(defineJob('migrating'))
    }
    expect(asked).toEqual([true])
  })

  test('pushes a job whenever its timer elapses', async () => {
    const job = defineJob('by-clock', { timer: '*-*-* *:*:* UTC', tags: { by: 'clock' }, maxTries: 3, priority: 2 })
    const tags: unknown[] = []
    await using stream = fixture.streamOf()
    stream.handle(job, ({ tags: given, input, maxTries, task }) => void tags.push([given, input, maxTries, task.priority]))
    await stream.start()
    await expect.poll(() => tags.length).toBeGreaterThan(1)
    expect(tags[0]).toEqual([{ by: 'clock' }, undefined, 3, 2])
    expect(await timers()).toMatchObject([{ id: 'by-clock', timer: '*-*-* *:*:* UTC', application: 'taskstream' }])
    await stream.stop()
    await fixture.commit(async (transaction) =>
      periodicTasks(fixture.subject.tasks(), { scope: 'jobs' }).remove(transaction, 'by-clock'),
    )
  })

  test('tells its listener of a timer that cannot be fired, and which one', async () => {
    const told: unknown[] = []
    const job = defineJob('no-topic', { timer: '*-*-* *:*:* UTC' })
    await using stream = fixture.streamOf({
      listener: {
        onError: ({ activity, timer, error }) => void told.push([activity, timer?.id, isTaskError(error) && error.code]),
      },
    })
    stream.handle(job, nothing)
    await stream.start()
    await fixture.commit((transaction) => fixture.subject.tasks().destroy(transaction, 'no-topic'))
    await expect.poll(() => told, { timeout: 20_000 }).toContainEqual(['timers', 'no-topic', 'TOPIC_UNKNOWN'])
    await stream.stop()
    await fixture.commit(async (transaction) =>
      periodicTasks(fixture.subject.tasks(), { scope: 'jobs' }).remove(transaction, 'no-topic'),
    )
  })

  test('starts once, and not after its stop, and takes no handler then', async () => {
    const job = defineJob('lifecycle')
    const other = defineJob('lifecycle-other')
    const stream = fixture.streamOf()
    stream.handle(job, nothing)
    expect(() => stream.handle(job, nothing)).toThrow('The job "lifecycle" is handled already')
    const starting = stream.start()
    expect(await codeOf(() => stream.start())).toBe('LIFECYCLE')
    await starting
    expect(await codeOf(() => stream.start())).toBe('LIFECYCLE')
    expect(await codeOf(() => stream.handle(other, nothing))).toBe('LIFECYCLE')
    const [first, second] = await Promise.all([stream.stop(), stream.stop()])
    expect(second).toEqual(first)
    for (const late of [() => stream.start(), () => stream.submit(job), () => stream.handle(other, nothing)])
      expect(await codeOf(late)).toBe('LIFECYCLE')
  })

  test('that is stopped while it starts says so, whatever the step under way met', async () => {
    const { subject } = fixture
    let isClosed = false
    const entered = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    const transactions: typeof subject.transactions = Object.assign(async (...given: Parameters<typeof subject.transactions>) => {
      entered.resolve()
      await go.promise
      if (isClosed) throw new Error('the pool was closed')
      return subject.transactions(...given)
    }, {}) as typeof subject.transactions
    const stream = new Stream({ repository: subject.tasks(), transactions }, { migrate: false, listener: {} })
    stream.handle(defineJob('stopped-in-prepare'), nothing)
    const starting = codeOf(() => stream.start())
    await entered.promise
    const stopping = stream.stop()
    isClosed = true
    go.resolve()
    expect(await starting).toBe('LIFECYCLE')
    await stopping
  })

  test('that is stopped while it starts ends, and leaves no owner behind', async () => {
    const job = defineJob('stopped-at-once')
    const owners = (): Promise<number> =>
      fixture.commit(async (transaction) => (await fixture.subject.tasks().owners(transaction, 60_000)).length)
    const before = await owners()
    const stream = fixture.streamOf()
    stream.handle(job, nothing)
    const starting = codeOf(() => stream.start())
    await stream.stop()
    expect(['LIFECYCLE', undefined]).toContain(await starting)
    await expect.poll(owners).toBe(before)
  })

  test('hands a job that does not end back at its stop, untouched', async () => {
    const job = defineJob('long')
    const begun = Promise.withResolvers<void>()
    const stream = fixture.streamOf()
    stream.handle(job, async ({ signal }) => {
      begun.resolve()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      throw signal.reason
    })
    await stream.start()
    const ref = await stream.submit(job)
    await begun.promise
    const { returned } = await stream.stop({ graceMs: 0 })
    expect(returned).toMatchObject([{ sequence: ref.sequence }])
    expect(await fixture.page(job)).toMatchObject([{ state: 'ready', tries: 0 }])
  })

  test('says why it takes no jobs: while it starts and stops, and never if it only pushes', async () => {
    const stream = fixture.streamOf()
    stream.handle(defineJob('probed'), nothing)
    const pushing = fixture.streamOf()
    for (const each of [stream, pushing]) {
      expect(each.troubles).toEqual(['starting'])
      await each.start()
      expect(each.troubles).toEqual([])
      const stopping = each.stop()
      expect(each.troubles).toEqual(['stopping'])
      await stopping
    }
  })

  test('only pushes if nothing is handled', async () => {
    const job = defineJob('pushed-only')
    await using stream = fixture.streamOf()
    await stream.prepare(job)
    await stream.start()
    await stream.submit(job)
    expect(await fixture.states(job)).toEqual({ ready: 1 })
  })

  test('refuses options that it does not know, by name', async () => {
    const wrong: readonly [() => unknown, RegExp][] = [
      [
        () => fixture.streamOf({ lease: 5 } as StreamOptions<AnyTransaction>),
        /lease is no option of taskstream: did you mean leaseMs/,
      ],
      [() => fixture.streamOf({ migrate: 'no' as never }), /migrate/],
      [() => fixture.streamOf({ application: '' }), /application must not be empty/],
      [
        (): TestStream => fixture.streamOf().handle(defineJob('a'), nothing, { concurency: 1 } as never),
        /did you mean concurrency/,
      ],
      [(): TestStream => fixture.streamOf().handle(defineJob('a'), nothing, { concurrency: 0 }), /concurrency/],
      [
        (): TestStream => fixture.streamOf().handle(defineJob('a'), 5 as unknown as JobHandler<unknown, 'a', void, never>),
        /"a" must be a function/,
      ],
      [(): TestStream => fixture.streamOf().handle({ name: 'a' } as Job<'a'>, nothing), /must be made by defineJob/],
      [() => fixture.streamOf().start({ stopon: [] } as never), /did you mean stopOn/],
    ]
    for (const [attempt, message] of wrong) {
      expect(await codeOf(async () => attempt())).toBe('ARGUMENT_INVALID')
      await expect((async () => attempt())()).rejects.toThrow(message)
    }
  })
})
