/** Jobs of several definitions share a queue: one topic, one loop, one order; and each is handled and waited for by its own definition. */
import { periodicTasks } from '@taskstream/task-scheduler'
import { thrownBy } from '@taskstream/task-testing/suite'
import { defineJob, defineQueue, exponential, fixed, json, never } from 'taskstream'
import type { JobDetails, TaskError } from 'taskstream'
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

  test('are waited for by whoever does not know with which job of the queue they go on', async () => {
    const queue = defineQueue('shared-unknown')
    const second = defineJob('unknown:second', { queue, output: json<number>(), retry: never })
    const first = defineJob('unknown:first', { queue })
    await using stream = fixture.streamOf()
    stream.route(queue, { 'unknown:first': ({ next }) => next(second) })
    let runs = 0
    stream.handle(second, () => {
      if (++runs > 1) throw new Error('only once')
      return 7
    })
    await stream.start()
    const result: unknown = await stream.wait(first, await stream.submit(first))
    expect(result).toBe(7)
    const error = (await thrownBy(async () => stream.wait(first, await stream.submit(first)))) as TaskError
    expect(error.message).toMatch(/^The job "unknown:second" @\d+, as which "unknown:first" @\d+ went on, has ended: failed/)
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
