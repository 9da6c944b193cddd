/** So many jobs of a key are handled at a time, by all processes together, and to their users the jobs of a key are one. */
import { setImmediate } from 'node:timers/promises'
import { periodicTasks } from '@taskstream/task-scheduler'
import { thrownBy } from '@taskstream/task-testing/suite'
import { defineJob, defineQueue, json } from 'taskstream'
import type { Job, JobEvent, JobLimits, JobRef } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'
import type { TestStream } from './job-fixture.ts'

const key = (given: string): string => given
const define = <Name extends string>(name: Name, limits: JobLimits): Job<Name, string> =>
  defineJob(name, { input: json<string>(), key, limits })

describe.skipIf(!canRun)('the jobs of a key', () => {
  const fixture = useJobFixture()

  const identifiers = async (topic: { readonly name: string }): Promise<string[]> =>
    (await fixture.page(topic)).map(({ identifier }) => identifier)

  /** Pushes a job for each of the keys. */
  const pushAll = (stream: TestStream, job: Job<string, string>, ...keys: readonly string[]): Promise<JobRef[]> =>
    stream.transaction<JobRef[]>((transaction) =>
      stream.pushMany(
        transaction,
        job,
        keys.map((given) => [given]),
      ),
    )

  test('are handled n at a time and never more, by two processes together, and those of another key meanwhile', async () => {
    const job = define('per-key', { perKey: 2 })
    const running = new Map([
      ['ann', 0],
      ['bob', 0],
    ])
    const seen = new Set<string>()
    const all = Promise.withResolvers<void>()
    const open = async (): Promise<AsyncDisposable> => {
      const stream = fixture.streamOf()
      stream.handle(job, async ({ input }) => {
        const count = running.get(input)! + 1
        running.set(input, count)
        seen.add(`${input} ${count}`)
        if ([...running.values()].every((one) => one >= 2)) all.resolve()
        // Both keys wait here until two jobs of each are handled.
        await all.promise
        await setImmediate()
        running.set(input, running.get(input)! - 1)
      })
      await stream.start()
      return stream
    }
    await using pushing = fixture.streamOf()
    await pushing.prepare(job)
    await pushAll(pushing, job, ...Array.from({ length: 24 }, (_, index) => (index % 2 === 0 ? 'ann' : 'bob')))
    await using _one = await open()
    await using _other = await open()
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: 24 })
    expect([...seen].toSorted()).toEqual(['ann 1', 'ann 2', 'bob 1', 'bob 2'])
  })

  test('are pushed to its sub-keys in turn, however the pushes of other keys come between', async () => {
    const job = define('per-key-turns', { perKey: 3 })
    await using stream = fixture.streamOf()
    await stream.prepare(job)
    const refs = await pushAll(stream, job, 'ann', 'bob', 'cid', 'ann', 'bob', 'cid', 'ann', 'bob', 'cid')
    for (const name of ['ann', 'bob', 'cid'])
      expect((await identifiers(job)).filter((one) => one.startsWith(name)).toSorted()).toEqual([
        `${name}~0`,
        `${name}~1`,
        `${name}~2`,
      ])
    expect(refs.map(({ identifier }) => identifier).slice(0, 3)).toEqual(['ann', 'bob', 'cid'])
    expect(await stream.submit(job, 'ann~1')).toMatchObject({ identifier: 'ann~1', outcome: 'created' })
  })

  test('are shown with their key alone, which may itself end as a sub-key does, to handlers and to those who look or watch', async () => {
    const job = define('per-key-shown', { perKey: 2 })
    const ahead = defineJob('per-key-ahead', { input: json<string>(), next: [job] })
    const keys: unknown[] = []
    await using stream = fixture.streamOf()
    stream.use(async (held, next) => {
      keys.push(held.key)
      return next()
    })
    stream.handle(job, ({ key: own }) => void keys.push(own))
    stream.handle(ahead, ({ input, next }) => next(job, input))
    await stream.start()
    await using watching = fixture.streamOf()
    const told = { here: [] as JobEvent[], elsewhere: [] as JobEvent[] }
    const read = async (events: AsyncIterable<JobEvent>, to: JobEvent[]): Promise<void> => {
      for await (const event of events) to.push(event)
    }
    void read(stream.watch({ everyMs: 60_000 }), told.here)
    void read(watching.watch({ jobs: [job], everyMs: 100 }), told.elsewhere)
    // From its first look on, the other stream sees new jobs.
    await expect
      .poll(async () => {
        if (told.elsewhere.length === 0) await stream.submit(job, 'mark~1', { delayMs: 3_600_000 })
        return told.elsewhere.length
      })
      .toBeGreaterThan(0)
    await stream.submit(ahead, 'ann~1')
    for (const events of Object.values(told)) {
      const own = (): JobEvent[] => events.filter((event) => event.job === job.name)
      await expect.poll(() => own().at(-1)?.state).toBe('succeeded')
      expect(new Set(own().map(({ ref }) => ref.identifier))).toEqual(new Set(['mark~1', 'ann~1']))
    }
    expect(keys).toEqual([undefined, 'ann~1', 'ann~1'])
    const { ref } = told.here.at(-1)!
    await stream.transaction(async (transaction) => {
      expect(await stream.get(transaction, job, ref as JobRef<'per-key-shown'>)).toMatchObject({ key: 'ann~1' })
    })
  })

  test('are listed and found together by it, in the order of their pushes', async () => {
    const job = define('per-key-listed', { perKey: 3 })
    await using stream = fixture.streamOf()
    await stream.prepare(job)
    const refs = await pushAll(stream, job, 'ann', 'ann', 'bob', 'ann', 'ann', 'ann~0')
    const own = refs.filter(({ identifier }) => identifier === 'ann').map(({ sequence }) => sequence)
    await stream.transaction(async (transaction) => {
      const list = async (options: object): Promise<number[]> => {
        const found = await stream.list(transaction, job, { identifier: 'ann', ...options })
        expect(found.every((one) => one.key === 'ann')).toBe(true)
        return found.map(({ task }) => task.sequence)
      }
      expect(await list({})).toEqual(own)
      expect(await list({ size: 3 })).toEqual(own.slice(0, 3))
      expect(await list({ size: 3, after: own[0]! })).toEqual(own.slice(1))
      expect(await list({ size: 2, before: own[3]! })).toEqual([own[2], own[1]])
      const { jobs, lookedAt, next } = await stream.find(transaction, job, { identifier: 'ann', tags: {} })
      expect([jobs.map(({ task }) => task.sequence), lookedAt, next]).toEqual([own, own.length, undefined])
    })
  })

  test('are cancelled and rescheduled together by it, and no others', async () => {
    const queue = defineQueue('per-key-queue', { limits: { perKey: 2 } })
    const input = json<string>()
    const alone = define('per-key-cancelled', { perKey: 2 })
    const shared = defineJob('per-key-queue:one', { queue, input, key })
    const other = defineJob('per-key-queue:other', { queue, input, key })
    await using stream = fixture.streamOf()
    await stream.prepare(alone, shared, other)
    const kept = await pushAll(stream, other, 'ann', 'ann')
    for (const job of [alone, shared]) {
      const refs = await pushAll(stream, job, 'ann', 'ann', 'ann', 'bob', 'ann~0')
      const own = refs.slice(0, 3).map(({ sequence }) => sequence)
      await stream.transaction(async (transaction) => {
        const moved = await stream.reschedule(transaction, job, { key: 'ann' }, { delayMs: 3_600_000 })
        expect(moved.map(({ sequence }) => sequence).toSorted((left, right) => left - right)).toEqual(own)
        const { cancelled } = await stream.cancel(transaction, job, { key: 'ann' })
        expect(cancelled.map(({ sequence }) => sequence)).toEqual(own)
      })
      expect((await stream.transaction(async (tx) => stream.list(tx, job))).map(({ state, key: of }) => [of, state])).toEqual([
        ['ann', 'filtered'],
        ['ann', 'filtered'],
        ['ann', 'filtered'],
        ['bob', 'ready'],
        ['ann~0', 'ready'],
      ])
    }
    const all = await fixture.page(queue)
    expect(all.filter(({ state }) => state === 'ready').map(({ sequence }) => sequence)).toEqual(
      expect.arrayContaining(kept.map(({ sequence }) => sequence)),
    )
  })

  test('of a queue count together, whatever their definitions, and routes are given their key alone', async () => {
    const queue = defineQueue('per-key-routed', { limits: { perKey: 2, total: 10 } })
    const input = json<string>()
    const one = defineJob('per-key-routed:one', { queue, input, key })
    const other = defineJob('per-key-routed:other', { queue, input, key, ordered: false })
    const keys = new Set<unknown>()
    const two = Promise.withResolvers<void>()
    let running = 0
    let most = 0
    const handler = async (job: { readonly key: string | undefined }): Promise<void> => {
      keys.add(job.key)
      most = Math.max(most, ++running)
      if (running === 2) two.resolve()
      await two.promise
      await setImmediate()
      running--
    }
    await using stream = fixture.streamOf()
    stream.handle(one, handler)
    stream.route(queue, { '*': handler })
    await stream.prepare(other)
    for (let turn = 0; turn < 3; turn++) for (const job of [one, other]) await pushAll(stream, job, 'ann')
    expect(new Set(await identifiers(queue))).toEqual(new Set(['ann~0', 'ann~1']))
    await stream.start()
    await expect.poll(() => fixture.states(queue)).toEqual({ succeeded: 6 })
    expect([most, [...keys]]).toEqual([2, ['ann']])
    const limits = await stream.transaction(async (tx) => (await stream.tasks.limits(tx)).get(queue.name))
    expect(limits).toEqual({ total: 10 })
  })

  test('that an earlier, larger limit has spread further are handled with their key, and found by it no more', async () => {
    const before = define('per-key-lowered', { perKey: 4 })
    const after = define('per-key-lowered', { perKey: 2 })
    const keys: unknown[] = []
    await using pushing = fixture.streamOf()
    await pushing.prepare(before)
    await pushAll(pushing, before, 'ann', 'ann', 'ann', 'ann')
    const told: unknown[] = []
    await using stream = fixture.streamOf({ listener: { onError: ({ error }) => void told.push(error) } })
    stream.handle(after, (job) => void keys.push(job.key))
    const limits = { total: 5 }
    await stream.transaction(async (transaction) => {
      expect((await stream.cancel(transaction, after, { key: 'ann' })).cancelled).toHaveLength(2)
      await stream.tasks.limit(transaction, after.name, limits)
    })
    await stream.start()
    await expect.poll(() => fixture.states(after)).toEqual({ filtered: 2, succeeded: 2 })
    expect(keys).toEqual(['ann', 'ann'])
    // The limit belongs to the definition alone, and a start neither stores it nor compares it.
    expect(told).toEqual([])
    expect(await stream.transaction(async (tx) => (await stream.tasks.limits(tx)).get(after.name))).toEqual(limits)
  })

  test('that were pushed when they were in order are handled with their key', async () => {
    const before = defineJob('per-key-ordered', { input: json<string>(), key, ordered: true })
    const after = define('per-key-ordered', { perKey: 2 })
    const keys: unknown[] = []
    await using pushing = fixture.streamOf()
    await pushing.prepare(before)
    await pushing.submit(before, 'ann')
    await using stream = fixture.streamOf()
    stream.handle(after, (job) => void keys.push(job.key))
    await stream.start()
    await expect.poll(() => fixture.states(after)).toEqual({ succeeded: 1 })
    expect(keys).toEqual(['ann'])
    const unlimited = defineJob('per-key-ordered', { input: json<string>(), key })
    expect(await thrownBy(() => stream.prepare(unlimited))).toMatchObject({ code: 'TOPIC_DIFFERENT' })
  })

  test('that the clock pushes have one sub-key, which no start changes', async () => {
    const job = defineJob('per-key-clock', { key: () => 'ann', limits: { perKey: 100 }, timer: '2199-01-01' })
    const timers = periodicTasks(fixture.subject.tasks(), { scope: 'jobs' })
    for (let start = 0; start < 2; start++) {
      await using stream = fixture.streamOf()
      stream.handle(job, () => {})
      await stream.start()
      const stored = await fixture.commit(async (transaction) => timers.get(transaction, job.name))
      expect(stored?.identifier).toBe('ann~0')
    }
    await fixture.commit(async (transaction) => timers.remove(transaction, job.name))
  })

  const long = (length: number): string => 'k'.repeat(length)
  const limited = define('per-key-refused', { perKey: 11 })

  test('with a key of the greatest length are pushed', async () => {
    await using stream = fixture.streamOf()
    await stream.prepare(limited)
    expect(await stream.submit(limited, long(497))).toMatchObject({ identifier: long(497) })
  })

  test.each<readonly [name: string, refused: (stream: TestStream) => unknown, message: RegExp]>([
    ['under a limit of one', () => define('refused', { perKey: 1 }), /^perKey must be 2 to 100: .*ordered: true/],
    ['under a limit of more than 100', () => define('refused', { perKey: 101 }), /^perKey must be .*: 101/],
    ['under a limit that is no number', () => define('refused', { perKey: '2' as never }), /^perKey must be .*: "2"/],
    [
      'under a misspelt limit',
      () => define('refused', { perkey: 2 } as never),
      /^perkey is no option of limits: did you mean perKey/,
    ],
    ['without a key', () => defineJob('refused', { limits: { perKey: 2 } }), /^perKey needs a key, .*"refused"/],
    [
      'in an order',
      () => defineJob('refused', { key: () => 'k', ordered: true, limits: { perKey: 2 } }),
      /^ordered must not be given with perKey/,
    ],
    [
      'in an order of a queue',
      () => defineQueue('refused', { ordered: true, limits: { perKey: 2 } }),
      /^ordered must not be given with perKey/,
    ],
    [
      'in a queue without keys',
      () => defineQueue('refused', { keyed: false, limits: { perKey: 2 } }),
      /^keyed must not be given: perKey/,
    ],
    [
      'in an order that their queue has not',
      () => defineJob('refused', { queue: defineQueue('own', { limits: { perKey: 2 } }), key: () => 'k', ordered: true }),
      /^ordered of the job "refused" is up to its queue "own", where it is false/,
    ],
    [
      'without a key in their queue',
      () => defineJob('refused', { queue: defineQueue('own', { limits: { perKey: 2 } }) }),
      /^key must be given for the job "refused", as its queue "own" is keyed/,
    ],
    [
      'whose key is too long with a suffix',
      (stream) => stream.submit(limited, long(498)),
      /^key must have at most 497 characters beside the suffix of perKey, and has 498/,
    ],
    ['whose key is empty', (stream) => stream.submit(limited, ''), /^key must not be empty/],
    [
      'that are to supersede others',
      (stream) => stream.transaction((tx) => stream.pushMany(tx, limited, [['k']], { insertion: 'supersede' })),
      /^insertion must be append: "per-key-refused" has perKey/,
    ],
    [
      'that are to replace others',
      (stream) => stream.transaction((tx) => stream.pushMany(tx, limited, [['k']], { insertion: 'replace' })),
      /^insertion must be append: "per-key-refused" has perKey/,
    ],
  ])('%s are refused by name', async (_, refused, message) => {
    await using stream = fixture.streamOf()
    expect(await thrownBy(() => refused(stream))).toMatchObject({
      code: 'ARGUMENT_INVALID',
      message: expect.stringMatching(message) as string,
    })
  })
})
