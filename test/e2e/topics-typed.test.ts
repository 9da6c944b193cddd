/** Typed topics are pushed to in the caller’s transaction, with the insertions of the topics below, and made known as they are defined. */
import { codeOf } from '@taskstream/task-testing/suite'
import { defineJob, defineTopic, json } from 'taskstream'
import type { AnyTopic } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

interface Price {
  readonly symbol: string
  readonly price: number
}

describe.skipIf(!canRun)('a typed topic', () => {
  const fixture = useJobFixture()

  test('has what a transaction pushed if, and only if, it commits', async () => {
    const topic = defineTopic('typed-rollback', { input: json<Price>(), key: ({ symbol }) => symbol })
    await using stream = fixture.streamOf()
    await stream.prepare(topic)
    const refused = stream.transaction(async (transaction) => {
      await stream.topic(topic).push(transaction, [{ symbol: 'EUR', price: 1 }])
      throw new Error('rolled back')
    })
    await expect(refused).rejects.toThrow('rolled back')
    const pushed = await stream.transaction(async (transaction) =>
      stream.topic(topic).push(transaction, [
        { symbol: 'EUR', price: 2 },
        { symbol: 'USD', price: 3 },
      ]),
    )
    expect(pushed).toMatchObject([
      { identifier: 'EUR', outcome: 'created' },
      { identifier: 'USD', outcome: 'created' },
    ])
    expect(await stream.topic(topic).submit([{ symbol: 'NOK', price: 4 }])).toMatchObject([{ identifier: 'NOK' }])
    expect((await fixture.page(topic)).map(({ input }) => input)).toEqual([
      '{"symbol":"EUR","price":2}',
      '{"symbol":"USD","price":3}',
      '{"symbol":"NOK","price":4}',
    ])
  })

  test('supersedes, replaces or deletes older tasks of a key, as a push says', async () => {
    const topic = defineTopic('typed-insertions', { input: json<Price>(), key: ({ symbol }) => symbol })
    await using stream = fixture.streamOf()
    await stream.prepare(topic)
    const push = async (insertion: 'supersede' | 'replace' | 'delete', ...prices: readonly number[]): Promise<string[]> => {
      await fixture.commit((transaction) =>
        stream.topic(topic).push(
          transaction,
          prices.map((each) => ({ symbol: 'EUR', price: each })),
          { insertion },
        ),
      )
      return (await fixture.page(topic)).map(({ input, state }) => `${(JSON.parse(input!) as Price).price} ${state}`)
    }
    await stream.topic(topic).submit([{ symbol: 'EUR', price: 1 }])
    expect(await push('supersede', 2)).toEqual(['1 redundant', '2 ready'])
    expect(await push('replace', 3, 4)).toEqual(['1 redundant', '2 redundant', '3 redundant', '4 ready'])
    expect(await push('delete', 5, 6)).toEqual(['6 ready'])
    const [submitted] = await stream.topic(topic).submit([{ symbol: 'EUR', price: 7 }], { insertion: 'supersede' })
    expect(submitted).toMatchObject({ superseded: 1 })
  })

  test('takes from each push what the definition leaves open', async () => {
    const topic = defineTopic('typed-each', {
      input: json<number>(),
      keyed: true,
      priority: 1,
      maxTries: 3,
      tags: { kind: 'usual' },
    })
    await using stream = fixture.streamOf()
    await stream.prepare(topic)
    const options = {
      each: (input: number, index: number) =>
        input === 7 ? { key: 'seven', id: 'mine', priority: 9 } : { key: `${index}`, delayMs: 60_000, tags: { kind: 'rush' } },
    }
    await stream.topic(topic).submit([7, 8], options)
    expect(await fixture.page(topic)).toMatchObject([
      { identifier: 'seven', externalId: 'mine', priority: 9, maxTries: 3, state: 'ready', headers: { tags: { kind: 'usual' } } },
      { identifier: '1', priority: 1, state: 'suspended', headers: { tags: { kind: 'rush' } } },
    ])
    expect(await stream.topic(topic).submit([7], options)).toMatchObject([{ outcome: 'duplicate' }])
    await expect(stream.topic(topic).submit([9])).rejects.toThrow(
      /^key must be given, as the definition of the topic "typed-each" makes none/,
    )
  })

  test('moves and cancels tasks that wait, by key, id or what the push returned', async () => {
    const topic = defineTopic('typed-moved', { input: json<number>(), key: String, id: (n) => `id ${n}` })
    await using stream = fixture.streamOf()
    await stream.prepare(topic)
    const moved = stream.topic(topic)
    const [, , third] = await moved.submit([1, 2, 3], { each: () => ({ delayMs: 60_000 }) })
    await stream.transaction(async (transaction) => {
      await moved.reschedule(transaction, { key: '1' }, { delayMs: 0 })
      await moved.cancel(transaction, 'id 2')
      await moved.reschedule(transaction, third!, { priority: 7 })
    })
    expect(await fixture.page(topic)).toMatchObject([{ state: 'ready' }, { state: 'filtered' }, { priority: 7 }])
    const other = defineTopic('typed-unkeyed', { input: json<number>() })
    await stream.prepare(other)
    const selected = (work: (transaction: AnyTransaction) => unknown): Promise<unknown> => fixture.commit(async (tx) => work(tx))
    await expect(selected((tx) => stream.topic(other).cancel(tx, { key: 'a' }))).rejects.toThrow(
      'the topic "typed-unkeyed" is defined without a key',
    )
    await expect(selected((tx) => stream.topic(other).cancel(tx, third!))).rejects.toThrow(
      'must be of the topic "typed-unkeyed", and is of "typed-moved"',
    )
    await expect(selected((tx) => stream.topic(other).cancel(tx, 7 as never))).rejects.toThrow(
      'must be the id of a task, its reference, or { key }',
    )
  })

  test('is made known as it is defined, by prepare as by start', async () => {
    const plain = defineTopic('typed-plain', { input: json<number>() })
    const single = defineTopic('typed-single', { input: json<number>(), order: 'lifo', condition: 'singular-by-identifier' })
    const unkeyed = defineTopic('typed-no-index', { input: json<number>(), key: String, keyed: false })
    await using stream = fixture.streamOf()
    await expect(stream.topic(plain).submit([1])).rejects.toThrow(
      /^The topic "typed-plain" is not known in this database: call await stream.prepare\(…\) with it once, or process it and start/,
    )
    stream.topic(single).process({ handler: () => {} })
    await stream.start()
    await stream.prepare(plain, unkeyed)
    const isKnownAs = (topic: AnyTopic, options: object): Promise<unknown> =>
      codeOf(() => fixture.commit((transaction) => fixture.subject.tasks().initialize(transaction, topic.name, options)))
    expect(await isKnownAs(plain, { keyed: true })).toBe('TOPIC_NOT_KEYED')
    expect(await isKnownAs(single, { order: 'lifo', condition: 'singular-by-identifier', keyed: true })).toBe(false)
    expect(await isKnownAs(unkeyed, { keyed: true })).toBe('TOPIC_NOT_KEYED')
    await expect(stream.prepare(defineTopic('typed-plain', { input: json<number>(), order: 'lifo' }))).rejects.toThrow(
      /^The topic "typed-plain" is known in this database by another definition, whose order, condition or keyed differs/,
    )
    await expect(stream.topic(plain).submit([1], { insertion: 'supersede' })).rejects.toThrow(
      /^The topic "typed-plain" is known in this database without a key/,
    )
  })

  test('is processed once, and before the stream starts', async () => {
    const topic = defineTopic('typed-once', { input: json<number>() })
    const later = defineTopic('typed-later', { input: json<number>() })
    const job = defineJob('typed-once')
    await using stream = fixture.streamOf()
    stream.topic(topic).process({ handler: () => {} })
    expect(() => stream.topic(topic).process({ handler: () => {} })).toThrow('The topic "typed-once" is processed already')
    expect(() => stream.handle(job, () => {})).toThrow(expect.objectContaining({ code: 'LIFECYCLE' }))
    await stream.start()
    expect(() => stream.topic(later).process({ handler: () => {} })).toThrow(
      'The topic "typed-later" must be processed before the stream starts',
    )
  })
})
