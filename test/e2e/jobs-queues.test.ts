/** Jobs of several definitions share a queue: one topic, one loop, one order; and each is found, cancelled and waited for by its own definition. */
import { periodicTasks } from '@taskstream/task-scheduler'
import { thrownBy } from '@taskstream/task-testing/suite'
import { defineJob, defineQueue, exponential, fixed, json, never } from 'taskstream'
import type { JobDetails, JobInfo, TaskError } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

describe.skipIf(!canRun)('the jobs of a queue', () => {
  const fixture = useJobFixture()

  test('are handled by their own handlers, in the order of the queue, and a job of its own topic has no header of it', async () => {
    const queue = defineQueue('shared', { order: 'priority' })
    const low = defineJob('shared:low', { queue, input: json<number>(), priority: 1, tags: { kind: 'low' } })
    const high = defineJob('shared:high', { queue, priority: 2, order: 'priority', ordered: false })
    const alone = defineJob('shared-alone')
    const order: string[] = []
    await using pushing = fixture.streamOf()
    await pushing.prepare(low, high, alone)
    await pushing.submit(low, 7)
    await pushing.submit(high)
    await pushing.submit(alone)
    expect((await fixture.page(queue)).map(({ topic, identifier, headers }) => ({ topic, identifier, headers }))).toEqual([
      { topic: 'shared', identifier: 'shared:low', headers: { job: 'shared:low', tags: { kind: 'low' } } },
      { topic: 'shared', identifier: 'shared:high', headers: { job: 'shared:high' } },
    ])
    expect((await fixture.page(alone)).map(({ headers }) => headers)).toEqual([undefined])
    await using stream = fixture.streamOf()
    stream.handle(low, ({ name, input, tags }) => void order.push(`${name} ${input} ${tags['kind']}`))
    stream.handle(high, ({ name, input }) => void order.push(`${name} ${input}`))
    stream.route(queue, {}, { concurrency: 1, mode: 'transactional' })
    await stream.start()
    await expect.poll(() => fixture.states(queue)).toEqual({ succeeded: 2 })
    expect(order).toEqual(['shared:high undefined', 'shared:low 7 low'])
  })

  test('go by the retries, tries and times of their own definitions, or else of the queue', async () => {
    const queue = defineQueue('shared-retries', { retry: fixed({ tries: 3, afterMs: 0 }) })
    const usual = defineJob('retries:usual', { queue })
    const own = defineJob('retries:own', { queue, retry: never })
    const few = defineJob('retries:few', { queue, maxTries: 2 })
    const timed = defineJob('retries:timed', { queue, retry: never, timeoutMs: 10 })
    await using stream = fixture.streamOf()
    for (const job of [usual, own, few])
      stream.handle(job, () => {
        throw new Error('no')
      })
    stream.handle(
      timed,
      ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    )
    await stream.start()
    for (const job of [usual, own, few, timed]) await stream.submit(job)
    await expect.poll(() => fixture.states(queue)).toEqual({ failed: 4 })
    const tries = (await fixture.page(queue)).map(({ identifier, tries: count, reason }) => [identifier, count, reason])
    expect(Object.fromEntries(tries.map(([name, ...rest]) => [name, rest]))).toEqual({
      'retries:usual': [3, 'tries'],
      'retries:own': [1, undefined],
      'retries:few': [2, 'tries'],
      'retries:timed': [1, 'timeout'],
    })
  })

  test('run one after the other if they have the same key and the queue is ordered, whatever their definitions', async () => {
    const queue = defineQueue('shared-ordered', { ordered: true })
    const key = ({ account }: { account: string }): string => account
    const input = json<{ account: string; n: number }>()
    const credit = defineJob('ordered:credit', { queue, input, key, ordered: true })
    const debit = defineJob('ordered:debit', { queue, input, key })
    const order: string[] = []
    const open = new Set<string>()
    const both = Promise.withResolvers<void>()
    const work = async ({ input: { account, n } }: { input: { account: string; n: number } }): Promise<void> => {
      expect(open.has(account)).toBe(false)
      open.add(account)
      if (open.size === 2) both.resolve()
      await both.promise
      order.push(`${account}${n}`)
      open.delete(account)
    }
    await using stream = fixture.streamOf()
    stream.handle(credit, work)
    stream.handle(debit, work)
    await stream.start()
    await stream.transaction(async (transaction) => {
      for (const n of [1, 2, 3, 4, 5, 6])
        await stream.push(transaction, n % 3 ? credit : debit, { account: n % 2 ? 'a' : 'b', n })
    })
    await expect.poll(() => fixture.states(queue)).toEqual({ succeeded: 6 })
    expect(order.filter((one) => one.startsWith('a'))).toEqual(['a1', 'a3', 'a5'])
    expect(order.filter((one) => one.startsWith('b'))).toEqual(['b2', 'b4', 'b6'])
  })

  test('are waited for with the results of their own definitions, also when one goes on with another of the same queue', async () => {
    const queue = defineQueue('shared-results')
    const last = defineJob('results:last', { queue, input: json<number>(), output: json<{ twice: number }>() })
    const other = defineJob('results:other', { queue, output: json<string>(), retry: never })
    const first = defineJob('results:first', { queue, input: json<number>(), next: [last, other] })
    await using stream = fixture.streamOf()
    stream.handle(last, ({ input }) => ({ twice: 2 * input }))
    stream.handle(other, () => {
      throw new Error('no result')
    })
    stream.handle(first, ({ input, next, commit }) => (input > 0 ? commit(() => next(last, input)) : next(other)))
    await stream.start()
    expect(await stream.wait(last, await stream.submit(last, 4))).toEqual({ twice: 8 })
    const ref = await stream.submit(first, 21, { id: 'first' })
    expect(await stream.wait(first, ref)).toEqual({ twice: 42 })
    expect(await stream.wait(first, 'first')).toEqual({ twice: 42 })
    const details = await fixture.commit<JobDetails | undefined>((transaction) => stream.get(transaction, first, ref))
    expect(details).toMatchObject({ job: 'results:first', id: 'first', state: 'succeeded', result: { twice: 42 } })
    const error = (await thrownBy(async () => stream.wait(first, await stream.submit(first, -1)))) as TaskError
    expect(error).toMatchObject({ code: 'JOB_ENDED', data: { job: 'results:other', state: 'failed' } })
    expect(error.message).toMatch(
      /^The job "results:other" @\d+, as which "results:first" @\d+ went on, has ended: failed: Error: no result$/,
    )
    const retried = thrownBy(() => stream.transaction((transaction) => stream.retry(transaction, first, 'first')))
    expect(await retried).toMatchObject({ code: 'TASK_STATE', data: { job: 'results:first' } })
    await stream.transaction((transaction) => stream.retry(transaction, last, `@${details!.task.sequence - 1}`))
    await expect.poll(async () => (await fixture.states(queue))['succeeded']).toBe(4)
  })

  test('of other definitions are refused by name wherever one job is named, and nothing is done to them', async () => {
    const queue = defineQueue('shared-named', { keyed: true })
    const key = (): string => 'k'
    const mine = defineJob('named:mine', { queue, key })
    const other = defineJob('named:other', { queue, key })
    await using stream = fixture.streamOf()
    await stream.prepare(mine, other)
    const ref = await stream.submit(other, undefined, { id: 'theirs' })
    await fixture.commit((transaction) => stream.tasks.push(transaction, queue.name, [{ identifier: 'k', externalId: 'nobody' }]))
    for (const selector of ['theirs', ref, `@${ref.sequence}`, 'nobody'] as never[]) {
      const verbs: Readonly<Record<string, () => unknown>> = {
        cancel: () => fixture.commit((transaction) => stream.cancel(transaction, mine, selector)),
        reschedule: () => fixture.commit((transaction) => stream.reschedule(transaction, mine, selector, { delayMs: 9_000 })),
        get: () => fixture.commit((transaction) => stream.get(transaction, mine, selector)),
        retry: () => fixture.commit((transaction) => stream.retry(transaction, mine, selector)),
        attempts: () => fixture.commit((transaction) => stream.attempts(transaction, mine, selector)),
        wait: () => stream.wait(mine, selector),
      }
      for (const [verb, call] of Object.entries(verbs)) {
        const error = (await thrownBy(call)) as TaskError
        expect([verb, error.code, error.data['argument']]).toEqual([verb, 'ARGUMENT_INVALID', 'selector'])
        expect(error.message).toContain('must be of the job "named:mine", and ')
        expect(error.message).toContain(
          selector === 'nobody' ? 'was pushed without the name of a job' : 'is of "named:other" in the queue "shared-named"',
        )
      }
    }
    expect(await fixture.states(queue)).toEqual({ ready: 2 })
    const unknown = await fixture.commit<JobDetails | undefined>((transaction) => stream.get(transaction, mine, 'not there'))
    expect(unknown).toBeUndefined()
    // Ids are unique in the queue.
    expect(await stream.submit(mine, undefined, { id: 'theirs' })).toMatchObject({ outcome: 'duplicate', sequence: ref.sequence })
  })

  test('are cancelled and rescheduled by a key, by an id and by a reference, without those of other definitions', async () => {
    const queue = defineQueue('shared-keyed', { keyed: true })
    const mine = defineJob('keyed:mine', { queue, input: json<string>(), key: (input) => input })
    const other = defineJob('keyed:other', { queue, input: json<string>(), key: (input) => input })
    await using stream = fixture.streamOf()
    await stream.prepare(mine, other)
    for (const job of [mine, other, mine]) await stream.submit(job, 'a')
    const ref = await stream.submit(mine, 'b', { id: 'by id' })
    await stream.submit(mine, 'c')
    const cancelled = async (selector: { key: string } | string): Promise<number> => {
      const cancellation = await stream.transaction((transaction) => stream.cancel(transaction, mine, selector))
      return cancellation.cancelled.length
    }
    expect(await cancelled({ key: 'a' })).toBe(2)
    expect(await cancelled({ key: 'a' })).toBe(0)
    expect(await cancelled({ key: 'nobody' })).toBe(0)
    await stream.transaction((transaction) => stream.reschedule(transaction, mine, ref, { delayMs: 3_600_000 }))
    await stream.transaction((transaction) => stream.reschedule(transaction, mine, { key: 'c' }, { delayMs: 3_600_000 }))
    expect(await fixture.states(queue)).toEqual({ filtered: 2, ready: 1, delayed: 2 })
    expect(await cancelled('by id')).toBe(1)
    expect((await fixture.page(queue)).map(({ identifier, state }) => [identifier, state])).toEqual([
      ['a', 'filtered'],
      ['a', 'ready'],
      ['a', 'filtered'],
      ['b', 'filtered'],
      ['c', 'suspended'],
    ])
    const superseding = thrownBy(() =>
      stream.transaction((transaction) => stream.pushMany(transaction, mine, [['a']], { insertion: 'supersede' })),
    )
    expect(await superseding).toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument: 'insertion' } })
  })

  test('that are handled are told if they are cancelled, and are tried again by hand', async () => {
    const queue = defineQueue('shared-cancelled')
    const job = defineJob('cancelled:one', { queue, retry: never })
    const begun = Promise.withResolvers<void>()
    let fails = true
    await using stream = fixture.streamOf()
    stream.handle(job, async ({ id, signal }) => {
      if (id === 'fails' && fails) throw new Error('at first')
      if (id !== 'cancelled') return
      begun.resolve()
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    })
    await stream.start()
    const ref = await stream.submit(job, undefined, { id: 'cancelled' })
    await begun.promise
    await stream.transaction((transaction) => stream.cancel(transaction, job, ref))
    expect(await thrownBy(() => stream.wait(job, ref))).toMatchObject({ code: 'JOB_ENDED', data: { reason: 'cancelled' } })
    await stream.submit(job, undefined, { id: 'fails' })
    expect(await thrownBy(() => stream.wait(job, 'fails'))).toMatchObject({ code: 'JOB_ENDED' })
    const attempts = await fixture.commit<readonly unknown[]>((transaction) => stream.attempts(transaction, job, 'fails'))
    expect(attempts).toMatchObject([{ outcome: 'failed' }])
    expect(await fixture.commit<readonly unknown[]>((transaction) => stream.attempts(transaction, job, 'none'))).toEqual([])
    fails = false
    await stream.transaction((transaction) => stream.retry(transaction, job, 'fails'))
    await stream.wait(job, 'fails')
  })

  test('are listed and found without those of others, page by page', async () => {
    const queue = defineQueue('shared-listed')
    const rare = defineJob('listed:rare', { queue, input: json<number>() })
    const common = defineJob('listed:common', { queue, input: json<number>() })
    await using stream = fixture.streamOf()
    await stream.prepare(rare, common)
    await fixture.commit(async (transaction) => {
      for (let n = 0; n < 4; n++) {
        const items = Array.from({ length: 150 }, (_, index) => [150 * n + index, { tags: { even: index % 2 === 0 } }] as const)
        await stream.pushMany(transaction, common, items as never)
        await stream.pushMany(transaction, rare, [[n, { tags: { even: n % 2 === 0 } }]])
      }
    })
    const list = (options: object): Promise<readonly number[]> =>
      fixture
        .commit<JobInfo<string, number>[]>((transaction) => stream.list(transaction, rare, options))
        .then((jobs) => jobs.map(({ input }) => input))
    expect(await list({})).toEqual([0, 1, 2, 3])
    expect(await list({ size: 2 })).toEqual([0, 1])
    expect(await list({ states: ['failed'] })).toEqual([])
    const [, second] = await fixture.commit<JobInfo[]>((transaction) => stream.list(transaction, rare, { size: 2 }))
    expect(await list({ after: second!.task.sequence })).toEqual([2, 3])
    expect(await list({ before: second!.task.sequence })).toEqual([0])
    for (const size of [0, 1.5, 100_001])
      expect(await thrownBy(() => list({ size }))).toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument: 'size' } })
    const found = await fixture.commit<{ jobs: readonly JobInfo[]; lookedAt: number; next: unknown }>((transaction) =>
      stream.find(transaction, rare, { tags: { even: true } }),
    )
    expect(found).toMatchObject({ jobs: [{ input: 0 }, { input: 2 }], lookedAt: 604, next: undefined })
  })

  test('are pushed by the clock too', async () => {
    const queue = defineQueue('shared-clock')
    const job = defineJob('clock:job', { queue, timer: '*-*-* *:*:* UTC', tags: { by: 'clock' } })
    const names: string[] = []
    await using stream = fixture.streamOf()
    stream.handle(job, ({ name, tags }) => void names.push(`${name} ${tags['by']}`))
    await stream.start()
    await expect.poll(() => names[0], { timeout: 10_000 }).toBe('clock:job clock')
    await stream.stop()
    await fixture.commit(async (transaction) =>
      periodicTasks(fixture.subject.tasks(), { scope: 'jobs' }).remove(transaction, 'clock:job'),
    )
  })

  test('are refused what their queue decides, and queues what they do not have, by name', async () => {
    const queue = defineQueue('refusing', { order: 'lifo' })
    const ordered = defineQueue('refusing-ordered', { ordered: true, retry: exponential({ tries: 2, firstMs: 1 }) })
    const refused = async (name: string, define: () => unknown): Promise<void> => {
      expect([name, await thrownBy(define)]).toMatchObject([name, { code: 'ARGUMENT_INVALID' }])
      expect(((await thrownBy(define)) as TaskError).message).toContain(name)
    }
    const key = (): string => 'k'
    await refused('order', () => defineJob('a', { queue, order: 'fifo' }))
    await refused('ordered', () => defineJob('a', { queue, key, ordered: true }))
    await refused('key', () => defineJob('a', { queue, key }))
    await refused('key', () => defineJob('a', { queue: ordered }))
    await refused('ordered', () => defineJob('a', { queue: ordered, key, ordered: false }))
    await refused('name', () => defineJob('refusing', { queue }))
    await refused('name', () => defineJob('a:*', { queue }))
    for (const wrong of [null, 'mail', defineJob('mail')]) await refused('queue', () => defineJob('a', { queue: wrong as never }))
    for (const option of ['maxEntries', 'concurrency', 'rate', 'deadLetter', 'condition'])
      await refused(option, () => defineQueue('a', { [option]: 1 }))
    await refused('keyed', () => defineQueue('a', { ordered: true, keyed: false }))
    await refused('keyed', () => defineQueue('a', { keyed: 1 as never }))
    await refused('ordered', () => defineQueue('a', { ordered: 'yes' as never }))
    await refused('order', () => defineQueue('a', { order: 'random' as never }))
    await refused('retry', () => defineQueue('a', { retry: 3 as never }))
    await refused('topic', () => defineQueue(''))

    const job = defineJob('refusing:job', { queue })
    await using stream = fixture.streamOf()
    for (const option of ['concurrency', 'share', 'mode', 'idleMs', 'retainMs', 'activation'])
      await refused(option, () => stream.handle(job, () => {}, { [option]: 1 }))
    await refused('use', () => stream.handle(job, () => {}, { use: 1 as never }))
    await refused('name', () => stream.prepare(job, defineJob('refusing')))
    await refused('queue', () => stream.route('refusing' as never, {}))
    await refused('routes', () => stream.route(queue, null as never))
    await refused('handler', () => stream.route(queue, { 'refusing:*': 'text' as never }))
    for (const pattern of ['', 'a*b', '**']) await refused('route', () => stream.route(queue, { [pattern]: () => {} }))
    await refused('size', () => stream.route(queue, {}, { size: 3 } as never))
    await refused('concurrency', () => stream.route(queue, {}, { concurrency: 0 }))
    await refused('idleMs', () => stream.route(queue, {}, { idleMs: 0 }))
    // What was refused is not handled.
    stream.route(queue, { 'refusing:*': () => {} })
    await refused('queue', () => stream.route(defineQueue('refusing'), {}))
    await stream.start()
    await stream.wait(job, await stream.submit(job))
  })
})
