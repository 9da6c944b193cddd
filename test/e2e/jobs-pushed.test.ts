/** Jobs are pushed in the caller's transaction, with an input that is checked as their handler will get it. */
import type { TaskError, TaskInfo } from '@taskstream/task-api'
import { codeOf } from '@taskstream/task-testing/suite'
import { defineJob, defineTopic, json } from 'taskstream'
import type { Job, JobRef } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

interface Order {
  readonly id: number
  readonly customer: string
}

describe.skipIf(!canRun)('a job', () => {
  const fixture = useJobFixture()

  test('exists if, and only if, the transaction that pushes it commits', async () => {
    const job = defineJob('in-transaction', { input: json<{ n: number }>() })
    await using stream = fixture.streamOf()
    await stream.prepare(job)
    const refused = stream.transaction(async (transaction) => {
      await stream.push(transaction, job, { n: 1 })
      throw new Error('rolled back')
    })
    await expect(refused).rejects.toThrow('rolled back')
    const ref = await stream.transaction<JobRef>((transaction) => stream.push(transaction, job, { n: 2 }))
    expect(ref).toMatchObject({ job: 'in-transaction', topic: 'in-transaction', outcome: 'created', id: `@${ref.sequence}` })
    expect(await fixture.page(job)).toMatchObject([{ sequence: ref.sequence, identifier: 'in-transaction', input: '{"n":2}' }])
  })

  test('that is refused rejects where verbs are promises, and takes its transaction with it, awaited or not', async () => {
    const job = defineJob('refused-at-once', { input: z.object({ n: z.number() }) })
    const topic = defineTopic('refused-topic', { input: z.number() })
    await using stream = fixture.streamOf()
    await stream.prepare(job, topic)
    const wrong = { n: 'text' } as unknown as { n: number }
    const isAsync = stream.tasks.execution === 'async'
    const caught = stream.transaction(async (transaction) => {
      const codes: unknown[] = []
      const verbs = [
        () => stream.push(transaction, job, wrong),
        () => stream.pushMany(transaction, job, [[wrong]]),
        () => stream.get(transaction, job, 7 as unknown as string),
        () => stream.topic(topic).push(transaction, ['text' as unknown as number]),
      ]
      for (const verb of verbs)
        if (isAsync) await Promise.resolve(verb()).catch((error: unknown) => codes.push((error as TaskError).code))
        else codes.push(await codeOf(verb))
      return codes
    })
    expect(await caught).toEqual(['INPUT_INVALID', 'INPUT_INVALID', 'ARGUMENT_INVALID', 'INPUT_INVALID'])
    for (const nothing of [null, undefined, 'tx'])
      expect(await codeOf(() => stream.push(nothing as never, job, { n: 1 }))).toBe('ARGUMENT_INVALID')
    const unheard = stream.transaction(async (transaction) => {
      await stream.push(transaction, job, { n: 1 })
      void stream.push(transaction, job, wrong)
    })
    await expect(unheard).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    expect(await fixture.page(job)).toEqual([])
  })

  test('is submitted in a transaction of its own, and found by its id', async () => {
    const job = defineJob('submitted', { input: json<Order>(), id: ({ id }) => `order ${id}`, key: ({ customer }) => customer })
    await using stream = fixture.streamOf()
    await stream.prepare(job)
    const ref = await stream.submit(job, { id: 7, customer: 'ann' })
    expect(ref).toMatchObject({ id: 'order 7', identifier: 'ann', outcome: 'created' })
    const again = await stream.submit(job, { id: 7, customer: 'bob' })
    expect(again).toMatchObject({ id: 'order 7', identifier: 'ann', sequence: ref.sequence, outcome: 'duplicate' })
    for (const selector of ['order 7', ref, `@${ref.sequence}`])
      expect(await fixture.commit((transaction) => stream.get(transaction, job, selector))).toMatchObject({
        job: 'submitted',
        id: 'order 7',
        key: 'ann',
        input: { id: 7, customer: 'ann' },
        state: 'ready',
        task: { sequence: ref.sequence },
      })
    expect(await fixture.commit((transaction) => stream.get(transaction, job, 'order 8'))).toBeUndefined()
  })

  test('has what its definition says, unless its push says otherwise', async () => {
    const job = defineJob('options', {
      input: json<Order>(),
      key: ({ customer }) => customer,
      maxTries: 3,
      priority: 5,
      deadlineMs: 60_000,
      order: 'priority',
      tags: { kind: 'usual' },
    })
    await using stream = fixture.streamOf()
    await stream.prepare(job)
    const deadline = new Date('2300-01-01T00:00:00Z')
    await fixture.commit(async (transaction) => {
      await stream.push(transaction, job, { id: 1, customer: 'ann' })
      await stream.push(
        transaction,
        job,
        { id: 2, customer: 'ann' },
        { key: 'bob', id: 'mine', maxTries: 9, priority: -1, deadline, tags: { kind: 'rush', n: 1, yes: true } },
      )
      await stream.push(transaction, job, { id: 3, customer: 'cid' }, { delayMs: 60_000, deadlineMs: 120_000 })
      await stream.push(transaction, job, { id: 4, customer: 'dan' }, { due: deadline })
      await stream.push(transaction, job, { id: 5, customer: 'eve' }, { suspended: true })
    })
    const [first, second, third, fourth, fifth] = await fixture.page(job)
    expect(first).toMatchObject({
      identifier: 'ann',
      maxTries: 3,
      priority: 5,
      headers: { tags: { kind: 'usual' } },
      state: 'ready',
    })
    expect(msBetween(first!.created, first!.deadline)).toBe(60_000)
    expect(second).toMatchObject({
      identifier: 'bob',
      externalId: 'mine',
      maxTries: 9,
      priority: -1,
      deadline,
      headers: { tags: { kind: 'rush', n: 1, yes: true } },
    })
    expect(third).toMatchObject({ state: 'suspended' })
    expect(msBetween(third!.created, third!.due)).toBe(60_000)
    expect(msBetween(third!.created, third!.deadline)).toBe(120_000)
    expect(fourth).toMatchObject({ state: 'suspended', due: deadline })
    expect(fifth).toMatchObject({ state: 'suspended' })
    expect(fifth).not.toHaveProperty('due')
  })

  test('is pushed with many others, which may supersede older ones of their keys', async () => {
    const job = defineJob('many', { input: json<Order>(), key: ({ customer }) => customer })
    await using stream = fixture.streamOf()
    await stream.prepare(job)
    const push = (insertion: 'append' | 'supersede', ...orders: readonly Order[]): Promise<JobRef[]> =>
      fixture.commit<JobRef[]>((transaction) =>
        stream.pushMany(
          transaction,
          job,
          orders.map((order) => [order, { id: `o${order.id}` }]),
          { insertion },
        ),
      )
    const refs = await push('append', { id: 1, customer: 'ann' }, { id: 2, customer: 'bob' })
    expect(refs.map(({ id, identifier }) => [id, identifier])).toEqual([
      ['o1', 'ann'],
      ['o2', 'bob'],
    ])
    await push('supersede', { id: 3, customer: 'ann' })
    expect((await fixture.page(job)).map(({ externalId, state }) => [externalId, state])).toEqual([
      ['o1', 'redundant'],
      ['o2', 'ready'],
      ['o3', 'ready'],
    ])
    expect(await push('append')).toEqual([])
  })

  test('is cancelled by its id, its reference or its key, and rescheduled', async () => {
    const job = defineJob('changed', { input: json<Order>(), id: ({ id }) => `${id}`, key: ({ customer }) => customer })
    await using stream = fixture.streamOf()
    await stream.prepare(job)
    const refs = await fixture.commit<JobRef<'changed'>[]>((transaction) =>
      stream.pushMany(
        transaction,
        job,
        [1, 2, 3, 4, 5].map((id) => [{ id, customer: id < 4 ? `c${id}` : 'eve' }]),
      ),
    )
    const states = async (): Promise<unknown> => (await fixture.page(job)).map(({ state, reason }) => reason ?? state)
    await fixture.commit((transaction) => stream.cancel(transaction, job, '1'))
    await fixture.commit((transaction) => stream.cancel(transaction, job, refs[1]!))
    await fixture.commit((transaction) => stream.cancel(transaction, job, { key: 'eve' }))
    expect(await states()).toEqual(['cancelled', 'cancelled', 'ready', 'cancelled', 'cancelled'])
    const due = new Date('2300-01-01T00:00:00Z')
    await fixture.commit((transaction) => stream.reschedule(transaction, job, `@${refs[2]!.sequence}`, { due }))
    const [, , third] = await fixture.page(job)
    expect(third).toMatchObject({ state: 'suspended', due })
  })

  test('is refused by name if its input or its options are wrong, and nothing is written', async () => {
    const job = defineJob('wrong', { input: z.object({ at: z.iso.datetime() }) })
    const keyed = defineJob('wrong-keyed', { input: json<unknown>(), key: () => 'k' })
    const bare = defineJob('wrong-bare')
    await using stream = fixture.streamOf()
    await stream.prepare(job, bare, keyed)
    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    const pushes: readonly [() => unknown, string, RegExp][] = [
      [() => stream.submit(job, { at: 'yesterday' }), 'INPUT_INVALID', /"wrong" is not as its schema says: at: /],
      // A date is text after JSON, so it is refused by what is seen after JSON.
      [() => stream.submit(job, { at: 5 } as never), 'INPUT_INVALID', /at: /],
      [() => stream.submit(job, undefined as never), 'ARGUMENT_INVALID', /must be JSON/],
      [() => stream.submit(keyed, cycle), 'ARGUMENT_INVALID', /"wrong-keyed" must be JSON: .*circular/i],
      [() => stream.submit(keyed, { n: 1n }), 'ARGUMENT_INVALID', /must be JSON: .*BigInt/],
      [() => stream.submit(bare, { n: 1 } as never), 'ARGUMENT_INVALID', /"wrong-bare" is defined without an input/],
      [() => stream.submit(bare, undefined, { key: 'a' }), 'ARGUMENT_INVALID', /"wrong-bare" is defined without a key/],
      [() => stream.submit(bare, undefined, { id: '@5' }), 'ARGUMENT_INVALID', /must not begin with @/],
      [() => stream.submit(bare, undefined, { id: '' }), 'ARGUMENT_INVALID', /externalId.*must not be empty/],
      [() => stream.submit(bare, undefined, { delay: 5 } as never), 'ARGUMENT_INVALID', /did you mean delayMs/],
      [() => stream.submit(bare, undefined, { tags: 'x' as never }), 'ARGUMENT_INVALID', /tags/],
      [() => stream.submit({ name: 'wrong' } as unknown as typeof bare), 'ARGUMENT_INVALID', /job.*must be made by defineJob/],
      [() => stream.submit(defineJob('never-prepared')), 'TOPIC_UNKNOWN', /job "never-prepared" is not known .* stream\.prepare/],
      [() => push(defineJob('never-pushed')), 'TOPIC_UNKNOWN', /job "never-pushed" is not known/],
      [
        () => stream.submit(defineJob('wrong-key', { input: json<number>(), key: (n) => n as unknown as string }), 1),
        'ARGUMENT_INVALID',
        /key of the job "wrong-key" must be a string: 1/,
      ],
      [() => cancel({ keys: 'a' } as never), 'ARGUMENT_INVALID', /must be the id of a job, its reference, or \{ key \}/],
      [() => stream.pushMany({}, keyed, [], { insertion: 'delete' as never }), 'ARGUMENT_INVALID', /insertion must be append/],
      [() => stream.pushMany({}, keyed, [], null as never), 'ARGUMENT_INVALID', /of pushMany must be an object/],
      [() => stream.pushMany({}, keyed, [], { insert: 1 } as never), 'ARGUMENT_INVALID', /did you mean insertion/],
      [
        () => stream.pushMany({}, keyed, [{ n: 1 }] as never),
        'ARGUMENT_INVALID',
        /items of the job "wrong-keyed" must be a list of lists/,
      ],
      [() => stream.pushMany({}, keyed, { n: 1 } as never), 'ARGUMENT_INVALID', /items .*: \[object Object\]/],
      [() => cancel('@x'), 'ARGUMENT_INVALID', /@ and a sequence/],
      [() => cancel({ key: 'a' }), 'ARGUMENT_INVALID', /"wrong-bare" is defined without a key/],
      [() => cancel(5 as never), 'ARGUMENT_INVALID', /must be the id of a job, its reference, or \{ key \}/],
      [() => cancel({ ...(ref as never as object), topic: 'other', sequence: 1 } as never), 'ARGUMENT_INVALID', /"wrong-bare"/],
    ]
    const ref = { job: 'wrong-bare', id: '@1' }
    const push = (job: Job<string>): Promise<unknown> => fixture.commit((transaction) => stream.push(transaction, job))
    const cancel = (selector: never | string | { key: string }): Promise<unknown> =>
      fixture.commit((transaction) => stream.cancel(transaction, bare, selector))
    for (const [push, code, message] of pushes) {
      expect(await codeOf(async () => push())).toBe(code)
      await expect((async () => push())()).rejects.toThrow(message)
    }
    const left: TaskInfo[][] = [await fixture.page(job), await fixture.page(bare), await fixture.page(keyed)]
    expect(left).toEqual([[], [], []])
  })
})

/** Some engines keep instants to the microsecond, of which JavaScript sees the milliseconds. */
function msBetween(from: Date, to: Date | undefined): number {
  return Math.round((Number(to) - Number(from)) / 10) * 10
}
