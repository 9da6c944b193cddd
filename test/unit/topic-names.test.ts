/** A wrong option of a typed topic is refused by its name, before anything is written. */
import { defineTopic, json } from 'taskstream'
import { testStream } from 'taskstream/testing'
import { describe, expect, test } from 'vitest'

const given = (options: object): never => ({ input: json<number>(), ...options }) as never
const refused = (message: string): unknown =>
  expect.objectContaining({ code: 'ARGUMENT_INVALID', message: expect.stringContaining(message) })

describe('a typed topic', () => {
  test.each<[string, object, string]>([
    ['no input', { input: undefined }, 'input must be given: a schema, or json<T>()'],
    ['an input that is no schema', { input: {} }, 'input must be a Standard Schema'],
    ['an option that nobody knows', { keys: true }, 'keys is no option of defineTopic: did you mean key?'],
    ['an option of jobs', { timeoutMs: 1 }, 'timeoutMs is no option of defineTopic'],
    ['a key that is no function', { key: 'a' }, 'key must be a function of the input'],
    ['an id that is no function', { id: 7 }, 'id must be a function of the input'],
    ['another order', { order: 'best' }, 'order must be one of fifo, lifo, priority'],
    ['another condition', { condition: 'singular' }, 'condition must be one of none, singular-by-identifier'],
    ['keyed with a text', { keyed: 'yes' }, 'keyed must be true or false'],
    [
      'a condition without keys',
      { condition: 'singular-by-identifier', keyed: false },
      'keyed must not be given with the condition "singular-by-identifier"',
    ],
    ['a policy that is no function', { retry: 3 }, 'retry must be a policy'],
    ['no tries', { maxTries: 0 }, 'maxTries'],
    ['a deadline in the past', { deadlineMs: -1 }, 'deadlineMs'],
    ['half a priority', { priority: 0.5 }, 'priority'],
    ['a tag that is no fact', { tags: { a: {} } }, 'tags.a must be a string, a finite number or a boolean'],
  ])('is not defined with %s', (_, options, message) => {
    expect(() => defineTopic('a', given(options))).toThrow(refused(message))
  })

  test('is not defined without a name, and is a value that cannot be changed', () => {
    expect(() => defineTopic('', { input: json<number>() })).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
    const topic = defineTopic('a', { input: json<number>(), key: String })
    expect(topic.settings).toMatchObject({ what: 'topic', topic: { order: 'fifo', condition: 'none', keyed: true } })
    expect(Object.isFrozen(topic) && Object.isFrozen(topic.settings)).toBe(true)
  })

  test('refuses wrong options of pushes and of handlers, and what is no definition', async () => {
    await using stream = await testStream()
    const numbers = stream.topic(defineTopic('numbers', { input: json<number>(), key: String }))
    const wrong: Readonly<Record<string, () => unknown>> = {
      'topic must be made by defineTopic': () => stream.topic('numbers' as never),
      'inputs of the topic "numbers" must be a list': () => numbers.push(stream.database, 7 as never),
      'insert is no option of push: did you mean insertion?': () =>
        numbers.push(stream.database, [7], { insert: 'supersede' } as never),
      'each must be a function of an input': () => numbers.push(stream.database, [7], { each: { delayMs: 1 } as never }),
      'delay is no option of push: did you mean delayMs?': () =>
        numbers.push(stream.database, [7], { each: () => ({ delay: 1 }) as never }),
      'key of the topic "numbers" must be a string': () =>
        numbers.push(stream.database, [7], { each: () => ({ key: 7 }) as never }),
      'must not begin with @': () => numbers.push(stream.database, [7], { each: () => ({ id: '@7' }) }),
      'retry is no option of process': () => numbers.process({ handler: () => {}, retry: () => 1 } as never),
      'handler of the topic "numbers" must be a function': () => numbers.process({} as never),
      size: () => numbers.process({ handler: () => {}, size: 0 }),
    }
    for (const [message, work] of Object.entries(wrong)) expect(work).toThrow(refused(message))
    numbers.process({ handler: () => {} })
    await expect(stream.prepare({ name: 'numbers' } as never)).rejects.toThrow('must be made by defineJob')
  })
})
