/** What a node's own events say about how it fares, and what is told of an error. */
import { TaskError } from '@taskstream/task-api'
import { beforeEach, describe, expect, test } from 'vitest'
import type { TaskListener } from '@taskstream/task-processor'
import { overheard, safeListener } from '../../packages/task-processor/src/core/listener.ts'
import type { SafeListener } from '../../packages/task-processor/src/core/listener.ts'
import { toTrouble } from '../../packages/task-processor/src/liveness/trouble.ts'
import { Hearing } from '../../packages/task-processor/src/worker/hearing.ts'
import { tasksOf } from './answering.ts'

const gone = new TaskError('DATABASE_UNAVAILABLE', 'gone')
const none = { success: 0, filter: 0, suspension: 0, failure: 0, retry: 0, snooze: 0 }
const topic = 'mail'

describe('a node', () => {
  let hearing: Hearing
  let node: SafeListener
  let news: number
  beforeEach(() => {
    news = 0
    hearing = new Hearing(() => news++)
    node = overheard(safeListener({ onFatal: () => {} }), hearing)
  })
  const complete = (outcomes: Partial<typeof none>, names = 'abc'): void =>
    node.onComplete({
      topic,
      tasks: tasksOf(names),
      completion: { completed: tasksOf(names), lost: [] },
      decisions: new Map(),
      outcomes: { ...none, ...outcomes },
    })
  const trouble = (isPolled = true): unknown => hearing.of(topic, isPolled).error

  test('counts the attempts that end and those that fail or are to be retried, for two spans', () => {
    complete({ success: 1, failure: 1, retry: 1 })
    complete({ suspension: 1, filter: 1, snooze: 1 })
    expect(hearing.of(topic, true)).toEqual({ ended: 6, failed: 2 })
    hearing.turn()
    complete({ failure: 1 }, 'd')
    expect(hearing.of(topic, true)).toEqual({ ended: 7, failed: 3 })
    hearing.turn()
    expect(hearing.of(topic, true)).toEqual({ ended: 1, failed: 1 })
    hearing.turn()
    expect([hearing.of(topic, true), hearing.of('other', true)]).toEqual([
      { ended: 0, failed: 0 },
      { ended: 0, failed: 0 },
    ])
    expect(news).toBe(0)
  })

  test('has the longest standstill of two spans', () => {
    for (const blockedMs of [1_500.4, 1_200]) node.onBlocked({ blockedMs, batches: [] })
    hearing.turn()
    node.onBlocked({ blockedMs: 1_300, batches: [] })
    expect(hearing.blockedMs).toBe(1_500)
    hearing.turn()
    expect(hearing.blockedMs).toBe(1_300)
    hearing.turn()
    expect(hearing.blockedMs).toBe(0)
  })

  test.each(['heartbeat', 'maintenance', 'listen', 'activation'] as const)(
    'is in trouble by its %s until it works again',
    (activity) => {
      node.onError({ activity, error: gone })
      node.onError({ activity, error: new Error('another') })
      expect(hearing.trouble).toEqual({ activity, message: 'gone', code: gone.code, since: expect.any(Date) })
      expect([trouble(), news]).toEqual([undefined, 1])
      node.onRecovered({ activity })
      expect([hearing.trouble, news]).toEqual([undefined, 2])
      node.onRecovered({ activity })
      expect(news).toBe(2)
    },
  )

  test.each([
    ['poll', () => node.onRecovered({ activity: 'poll', topic })],
    ['poll', () => node.onStart({ topic, tasks: [] })],
    ['poll', () => node.onEmpty({ topic })],
    ['activation', () => node.onEmpty({ topic })],
    ['complete', () => node.onRecovered({ activity: 'complete', topic })],
    ['complete', () => complete({ success: 1 }, 'a')],
  ] as const)('has a topic in trouble by its %s until that works again: %#', (activity, works) => {
    node.onError({ activity, topic, error: gone })
    expect([trouble(), hearing.of('other', true).error, hearing.trouble]).toMatchObject([{ activity }, undefined, undefined])
    works()
    expect([trouble(), news]).toEqual([undefined, 2])
  })

  test('that completes a batch of one topic does not say that another works', () => {
    node.onError({ activity: 'complete', topic: 'other', error: gone })
    complete({ success: 1 })
    node.onEmpty({ topic })
    expect(hearing.of('other', true).error).toMatchObject({ activity: 'complete' })
  })

  test('tells first of what has failed for the longest', () => {
    node.onError({ activity: 'complete', topic, error: gone })
    node.onError({ activity: 'poll', topic, error: gone })
    expect(trouble()).toMatchObject({ activity: 'complete' })
    node.onRecovered({ activity: 'complete', topic })
    expect(trouble()).toMatchObject({ activity: 'poll' })
  })

  test('has a topic in trouble that cannot be processed until it is polled; one that was paused is in no trouble by old polls', () => {
    node.onError({ activity: 'poll', topic, error: gone })
    expect(trouble(false)).toBe(undefined)
    node.onFatal({ topic, error: new Error('cannot be opened') })
    expect(trouble(false)).toMatchObject({ activity: 'process', message: 'cannot be opened' })
    node.onEmpty({ topic })
    expect([trouble(), trouble(false)]).toEqual([undefined, undefined])
  })

  test('puts off what is newer, until none has come by for three minutes, and is in no trouble by that', () => {
    const newer = (): unknown => hearing.of(topic, true).newer
    const meet = (): void =>
      node.onError({ activity: 'handle', topic, tasks: tasksOf('a'), error: new TaskError('INPUT_NEWER', 'two') })
    const spans = (count: number): void => Array.from({ length: count }).forEach(() => hearing.turn())
    meet()
    const since = newer()
    expect(since).toMatchObject({ message: 'two', code: 'INPUT_NEWER', since: expect.any(Date) })
    expect([hearing.of('other', true).newer, hearing.of(topic, false).newer, trouble(), news]).toEqual([
      undefined,
      undefined,
      undefined,
      1,
    ])
    spans(6)
    meet()
    spans(6)
    expect([newer(), news]).toEqual([since, 1])
    spans(1)
    expect(newer()).toBeUndefined()
  })

  test('is in no trouble by what its handlers throw, nor by single tasks that cannot be written, nor by its reports', () => {
    node.onError({ activity: 'handle', topic, error: gone })
    node.onError({ activity: 'complete', topic, tasks: tasksOf('a'), error: gone })
    node.onError({ activity: 'report', error: gone })
    expect([trouble(), hearing.trouble, news]).toEqual([undefined, undefined, 0])
  })
})

test('a part that overhears a listener is told first, and leaves answers and warnings as they are', async () => {
  const heard: string[] = []
  const given: TaskListener = { onStart: () => (heard.push('given'), 'trace') }
  const listener = overheard(safeListener(given), {
    onStart: () => void heard.push('part'),
    onFatal: () => void heard.push('fatal'),
  })
  expect([listener.onStart({ topic, tasks: [] }), heard]).toEqual(['trace', ['part', 'given']])
  const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
  listener.onFatal({ topic, error: 'no' })
  expect((await warned).message).toContain('Topic "mail" is not processed: no')
  expect(heard.at(-1)).toBe('fatal')
})

describe('what is told of an error', () => {
  const told = (text: unknown): string => toTrouble('poll', text).message

  test.each([
    ['connect to postgres://shop:s3cret@db-1:5432/orders failed', 'connect to postgres://…@db-1:5432/orders failed'],
    ['mysql://shop:s3c@ret/x@db/orders', 'mysql://…@db/orders'],
    ['host=db password=s3cret user=shop', 'host=db password=… user=shop'],
    [`host=db password='s3 cret' user=shop`, 'host=db password=… user=shop'],
    ['{"user":"shop","password":"s3cret"}', '{"user":"shop","password":…}'],
    ['PGPASSWORD: s3cret', 'PGPASSWORD: …'],
    ['https://api/x?api_key=s3cret&b=1 refused', 'https://api/x?api_key=…&b=1 refused'],
    ['password authentication failed for user "shop"', 'password authentication failed for user "shop"'],
    ['connect ECONNREFUSED 127.0.0.1:5432', 'connect ECONNREFUSED 127.0.0.1:5432'],
    ['a\0b\uD800', 'a\uFFFDb\uFFFD'],
  ])('has no secret in it: %j', (text, shown) => {
    expect(told(new Error(text))).toBe(shown)
  })

  test('is short, and has no end of a secret that was cut', () => {
    const message = told(new Error(`postgres://shop:${'s'.repeat(1_000)}@db ${'x'.repeat(100_000)}`))
    expect(message).toHaveLength(500)
    expect(message).toContain('postgres://…@db x')
  })

  test.each([
    ['a text', 'a text'],
    [undefined, 'undefined'],
    [Object.create(null), 'an error without a text'],
    [Object.defineProperty(new Error('x'), 'message', { value: 7 }), '7'],
  ])('may be anything that was thrown: %#', (thrown, shown) => {
    expect(told(thrown)).toBe(shown)
  })

  test('has the code of an error of ours, and since when it is so', () => {
    const before = Date.now()
    expect(toTrouble('poll', gone)).toMatchObject({ activity: 'poll', code: 'DATABASE_UNAVAILABLE', message: 'gone' })
    expect(toTrouble('poll', new Error('x'))).toEqual({ activity: 'poll', message: 'x', since: expect.any(Date) })
    expect(toTrouble('poll', gone).since.getTime()).toBeGreaterThanOrEqual(before)
  })
})
