/** An input that does not fit costs its own task alone, and no other of its batch. */
import { codeOf } from '@taskstream/task-testing/suite'
import { defineTopic, fixed, TaskDecision } from 'taskstream'
import type { AnyTopic, TopicContext, TopicTask } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

const price = z.object({ symbol: z.string(), price: z.number() })
type Price = z.infer<typeof price>
const twice = fixed({ tries: 2, afterMs: 0, jitter: 0 })

describe.skipIf(!canRun)('a typed topic', () => {
  const fixture = useJobFixture()

  /** Pushes texts as programs do that do not know the definition. */
  const pushTexts = (topic: AnyTopic, texts: Readonly<Record<string, string>>): Promise<void> =>
    fixture.commit(async (transaction) => {
      const creations = Object.entries(texts).map(([identifier, input]) => ({ identifier, input }))
      await fixture.subject.tasks().push(transaction, topic.name, creations)
    })
  const endsOf = async (topic: AnyTopic): Promise<Record<string, string>> =>
    Object.fromEntries(
      (await fixture.page(topic)).map(({ identifier, state, reason, tries }) => [
        identifier,
        `${state}${reason === undefined ? '' : ` ${reason}`} after ${tries}`,
      ]),
    )

  test('refuses an input that does not fit, with all that is pushed with it', async () => {
    const topic = defineTopic('typed-refused', { input: price, key: ({ symbol }) => symbol })
    await using stream = fixture.streamOf()
    await stream.prepare(topic)
    const inputs = [{ symbol: 'EUR', price: 1 }, { symbol: 'USD', price: '2' } as never]
    expect(await codeOf(() => fixture.commit((transaction) => stream.topic(topic).push(transaction, inputs)))).toBe(
      'INPUT_INVALID',
    )
    expect(await codeOf(() => stream.topic(topic).submit(inputs))).toBe('INPUT_INVALID')
    expect(await fixture.page(topic)).toEqual([])
  })

  type Context = TopicContext<AnyTransaction, Price>
  const ways: Readonly<Record<string, (held: readonly TopicTask<Price>[], context: Context) => unknown>> = {
    'returns nothing': () => undefined,
    'returns decisions': (held) => new Map(held.map((task) => [task, TaskDecision.success()])),
    'completes with writes': (_, { complete }) =>
      complete(async (transaction, held) => {
        for (const { input } of held) await fixture.effect(transaction, input.symbol)
      }),
  }

  test.each(['leased', 'transactional'] as const)(
    'ends a task whose input does not fit by itself, whatever its handler does, in mode %s',
    async (mode) => {
      for (const [name, handler] of Object.entries(ways)) {
        const topic = defineTopic(`misfit ${name} ${mode}`, { input: price, retry: twice })
        const batches: string[] = []
        await using stream = fixture.streamOf()
        stream.topic(topic).process({
          mode,
          handler: (held, context) => {
            batches.push(held.map(({ key }) => key).join())
            return handler(held, context) as undefined
          },
        })
        await stream.prepare(topic)
        await pushTexts(topic, {
          a: '{"symbol":"a","price":1}',
          old: '{"symbol":"b"}',
          broken: '{"symbol',
          z: '{"symbol":"z","price":2}',
        })
        await stream.start()
        const terminated = 'failed terminated after 1'
        await expect
          .poll(() => endsOf(topic))
          .toEqual({ a: 'succeeded after 1', old: terminated, broken: terminated, z: 'succeeded after 1' })
        expect(batches).toEqual(['a,z'])
        const [, old] = await fixture.page(topic)
        expect(old!.output).toMatch(/The input of a task "misfit .*" is not as its schema says: price: /)
      }
      expect(await fixture.effects()).toEqual(['a', 'z'])
    },
  )

  test('ends such a task at once, though its handler throws and the others are tried again', async () => {
    for (const name of ['throws', 'throws in its work']) {
      const topic = defineTopic(`misfit ${name}`, { input: price, retry: twice })
      await using stream = fixture.streamOf()
      stream.topic(topic).process({
        handler: ([first], { complete }) => {
          const fail = (): void => {
            if (first!.tries === 1) throw new Error('not now')
          }
          if (name === 'throws') fail()
          return complete(async (transaction, held) => {
            for (const { key } of held) await fixture.effect(transaction, `${name} ${key}`)
            fail()
          })
        },
      })
      await stream.prepare(topic)
      await pushTexts(topic, { a: '{"symbol":"a","price":1}', bad: '7', z: '{"symbol":"z","price":2}' })
      await stream.start()
      await expect
        .poll(() => endsOf(topic))
        .toEqual({ a: 'succeeded after 2', bad: 'failed terminated after 1', z: 'succeeded after 2' })
    }
    expect(await fixture.effects()).toEqual(['throws a', 'throws z', 'throws in its work a', 'throws in its work z'])
  })

  test('calls no handler for a batch of nothing else, and follows its policy where a schema itself fails', async () => {
    let fails = true
    const topic = defineTopic('typed-schema', {
      input: z.number().transform((n) => {
        if (n === 1 && fails) throw new TypeError('a mistake in the schema')
        return n
      }),
      key: String,
      retry: fixed({ tries: 1_000, afterMs: 10, jitter: 0 }),
    })
    const batches: number[][] = []
    await using stream = fixture.streamOf()
    stream.topic(topic).process({ size: 2, handler: (held) => void batches.push(held.map(({ input }) => input)) })
    await stream.prepare(topic)
    await pushTexts(topic, { bad: '"a"', worse: '{}', '1': '1', '2': '2' })
    await stream.start()
    await expect.poll(() => fixture.states(topic)).toMatchObject({ failed: 2, succeeded: 1 })
    fails = false
    await expect.poll(() => fixture.states(topic)).toEqual({ failed: 2, succeeded: 2 })
    expect(batches).toEqual([[2], [1]])
  })
})
