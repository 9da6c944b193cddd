/** Decisions are merged, explained and stored alike. */
import { causesOf, headlineOf, carriedDecision, TaskDecision, TaskDecisionError, toDecision } from '@taskstream/task-api'
import type { Task } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'

const { success, failure, suspension, filter, retry, snooze } = TaskDecision

describe('a decision', () => {
  test('continues only after a success, unless it is told otherwise', () => {
    expect([success(), failure(), suspension(), filter()].map(({ continued }) => continued)).toEqual([true, false, false, false])
    expect(filter().withContinuation(true).continued).toBe(true)
    expect(success().withContinuation(false)).toMatchObject({ result: 'success', continued: false })
    expect(retry({ afterMs: 5 })).toMatchObject({ result: 'suspension', continued: false, retryAfterMs: 5 })
  })

  test('is the very same where nothing is changed', () => {
    const gone = filter('gone').because('cancelled')
    for (const same of [gone.withContinuation(false), gone.because('cancelled'), gone.include('gone'), gone.inAscii()])
      expect(same).toBe(gone)
  })

  test('keeps what else it says when one thing is changed', () => {
    const later = retry({ afterMs: 5 }, 'busy').because('unreachable')
    const said = { result: 'suspension', explanations: ['busy'], continued: false, retryAfterMs: 5, reason: 'unreachable' }
    expect(later).toMatchObject(said)
    expect(later.withContinuation(true)).toMatchObject({ ...said, continued: true })
    expect(later.because('timeout')).toMatchObject({ ...said, reason: 'timeout' })
    expect(later.include('again')).toMatchObject({ ...said, explanations: ['busy', 'again'] })
    const put = snooze({ afterMs: 5 }, '日').withContinuation(true).because('timeout').include('more').inAscii()
    expect(put).toMatchObject({ result: 'suspension', retryAfterMs: 5, reason: 'timeout', refunded: true, continued: true })
    expect(put.toMessage()).toBe(String.raw`\u{65e5}` + '\nmore')
  })

  test('of success may return a value and name its successor, which it keeps', () => {
    const sent = success('sent').withValue('{"a":1}').withSuccessor({ topic: 'mail', sequence: 7 })
    const said = { value: '{"a":1}', successor: { topic: 'mail', sequence: 7 } }
    expect(sent.include('more').because('tries').withContinuation(false)).toMatchObject({ ...said, continued: false })
    expect(success().merge(sent)).toMatchObject(said)
    expect(sent.merge(success())).toMatchObject(said)
    expect(sent.merge(success().withValue('2').withSuccessor({ topic: 'mail', sequence: 8 }))).toMatchObject({
      value: '2',
      successor: { sequence: 8 },
    })
    expect(sent.merge(failure())).toMatchObject({ value: undefined, successor: undefined })
    expect(sent.isSameAs(success('sent').withValue('{"a":1}').withSuccessor({ topic: 'mail', sequence: 7 }))).toBe(true)
    for (const other of [
      sent.withValue('2'),
      sent.withSuccessor({ topic: 'mail', sequence: 8 }),
      sent.withSuccessor({ topic: 'post', sequence: 7 }),
    ])
      expect(sent.isSameAs(other)).toBe(false)
  })

  test('keeps more than the row of its task if it returns something, or did not succeed', () => {
    const within = [success('sent'), filter('gone'), snooze({ afterMs: 5 }, 'busy')]
    expect(within.map(({ keepsMore, isRecorded }) => [keepsMore, isRecorded])).toEqual(within.map(() => [false, false]))
    const beside = [failure(), suspension(), retry({ afterMs: 5 })]
    expect(beside.map(({ keepsMore, isRecorded }) => [keepsMore, isRecorded])).toEqual(beside.map(() => [true, true]))
    for (const returning of [success().withValue('1'), success().withSuccessor({ topic: 'a', sequence: 1 })])
      expect([returning.keepsMore, returning.isRecorded]).toEqual([true, false])
  })

  test('in ASCII returns the same JSON', () => {
    const escaped = success('日').withValue('{"日":"é😀"}').inAscii()
    expect(escaped.value).toBe(String.raw`{"\u65e5":"\u00e9\ud83d\ude00"}`)
    expect(JSON.parse(escaped.value!)).toEqual({ 日: 'é😀' })
    expect(escaped.toMessage()).toBe(String.raw`\u{65e5}`)
    expect(success().withValue('"é"').inAscii().value).toBe(String.raw`"\u00e9"`)
    const plain = success('sent').withValue('1')
    expect(plain.inAscii()).toBe(plain)
  })

  test('refuses a value that is no JSON, and values and successors of what did not succeed', () => {
    for (const wrong of ['', '{', 'undefined', '"a\0"', `"${'a'.repeat(16_777_215)}"`, 7])
      expect(() => success().withValue(wrong as string)).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
    for (const wrong of [{ topic: '', sequence: 1 }, { topic: 'a', sequence: -1 }, { topic: 'a' }])
      expect(() => success().withSuccessor(wrong as never)).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
    for (const other of [failure(), filter(), suspension(), retry({ afterMs: 1 })]) {
      expect(() => other.withValue('1')).toThrow(expect.objectContaining({ code: 'LIFECYCLE' }))
      expect(() => other.withSuccessor({ topic: 'a', sequence: 1 })).toThrow(expect.objectContaining({ code: 'LIFECYCLE' }))
    }
  })

  test('of two takes the weightier result, both explanations, and continues if both do', () => {
    const merged = success('sent')
      .merge(filter('stale'))
      .merge(failure(new Error('broken')))
    expect(merged).toMatchObject({ result: 'failure', continued: false })
    expect(merged.toMessage()).toMatch(/^sent\nstale\nError: broken\n +at /)
    const order = [failure(), suspension(), filter(), success()]
    for (const [index, one] of order.entries()) {
      for (const other of order.slice(index)) {
        expect(one.merge(other).result).toBe(one.result)
        expect(other.merge(one).result).toBe(one.result)
      }
    }
  })

  test('says a thing once, however often it is merged or included', () => {
    const error = new Error('broken')
    expect(failure(error).merge(failure(error)).explanations).toEqual([error])
    expect(success('a').include('a').include(undefined).include('').include('b').explanations).toEqual(['a', 'b'])
  })

  test('has an error as its message also where the stack was taken away', () => {
    const error = new RangeError('too far')
    error.stack = ''
    expect(failure(error).toMessage()).toBe('RangeError: too far')
    delete error.stack
    expect(failure(error).toMessage()).toBe('RangeError: too far')
  })

  test('tells what has caused its error, and of many errors the first, but no chain without an end', () => {
    const refused = new AggregateError([new Error('connect ECONNREFUSED ::1'), new Error('connect ECONNREFUSED 127.0.0.1')])
    const fetchFailed = new TypeError('fetch failed', { cause: refused })
    const message = TaskDecision.failure(fetchFailed).toMessage()!
    expect(
      message
        .split('\n')
        .map((line) => line.trimEnd())
        .filter((line) => !line.startsWith('    at ')),
    ).toEqual(['TypeError: fetch failed', 'Caused by: AggregateError:', 'Caused by: Error: connect ECONNREFUSED ::1'])
    expect(headlineOf(fetchFailed, 200)).toBe('TypeError: fetch failed, caused by Error: connect ECONNREFUSED ::1')
    expect(headlineOf(fetchFailed, 50)).toBe('TypeError:..., caused by Error: connect ECONNRE...')
    const told = new Error('refused (the pool is closed)', { cause: new Error('the pool is closed') })
    expect(headlineOf(told, 200)).toBe('Error: refused (the pool is closed)')

    const own = new Error('own')
    own.cause = own
    expect(causesOf(own)).toEqual([])
    const endless = Array.from({ length: 100 }).reduce<Error>((cause, _, index) => new Error(`e${index}`, { cause }), own)
    expect(causesOf(endless)).toHaveLength(5)
    const odd = new Proxy(new Error('odd'), {
      get: () => {
        throw new Error('no')
      },
    })
    expect(headlineOf(odd, 200)).toBe('an error that cannot be read')
    expect(TaskDecision.failure(odd).toMessage()).toBe('an error that cannot be read')
  })

  test('merged or added to leaves the ones it came of as they were', () => {
    const [one, other] = [success('a'), filter('b')]
    expect(one.merge(other).merge(one.merge(other)).explanations).toEqual(['a', 'b'])
    expect(one.include(null)).toBe(one)
    expect(one.include('b')).toMatchObject({ result: 'success', continued: true, explanations: ['a', 'b'] })
    expect(one).toEqual(success('a'))
    expect(other).toEqual(filter('b'))
  })

  test('of two waits takes the longer, and one without an end is the longest', () => {
    expect(retry({ afterMs: 5 }).merge(retry({ afterMs: 9 })).retryAfterMs).toBe(9)
    expect(retry({ afterMs: 5 }).merge(suspension()).retryAfterMs).toBeUndefined()
    expect(retry({ afterMs: 5 }).merge(success()).retryAfterMs).toBe(5)
    expect(retry({ afterMs: 5 }).merge(failure())).toMatchObject({ result: 'failure', retryAfterMs: undefined })
  })

  test('gets the try back for a snooze, and of two only if each wait is one', () => {
    expect(snooze({ afterMs: 5 }, 'busy')).toMatchObject({ ...retry({ afterMs: 5 }, 'busy'), refunded: true })
    expect([success(), failure(), suspension(), filter(), retry({ afterMs: 5 })].map(({ refunded }) => refunded)).not.toContain(
      true,
    )
    const merged = (other: TaskDecision): boolean[] => [
      snooze({ afterMs: 5 }).merge(other).refunded,
      other.merge(snooze({ afterMs: 5 })).refunded,
    ]
    for (const other of [success(), filter(), snooze({ afterMs: 9 })]) expect(merged(other)).toEqual([true, true])
    for (const other of [failure(), suspension(), retry({ afterMs: 1 })]) expect(merged(other)).toEqual([false, false])
  })

  test('keeps its reason whatever is added to it, and of two has that of the weightier', () => {
    const late = failure('日').because('timeout')
    for (const same of [late, late.include('more'), late.withContinuation(true), late.inAscii(), late.because('timeout')])
      expect(same.reason).toBe('timeout')
    expect([late.merge(success()).reason, success().merge(late).reason]).toEqual(['timeout', 'timeout'])
    expect([late.merge(failure()).reason, failure().merge(late).reason]).toEqual(['timeout', 'timeout'])
    expect(late.merge(filter().because('cancelled')).reason).toBe('timeout')
    expect(filter().because('cancelled').merge(late).reason).toBe('timeout')
    expect(late.merge(failure().because('terminated')).reason).toBe('timeout')
    expect(failure().because('terminated').merge(late).reason).toBe('terminated')
    expect(failure().merge(filter().because('cancelled')).reason).toBeUndefined()
    expect(() => success().because('whim' as 'timeout')).toThrow(/reason/)
  })

  test('refuses a wait that is none', () => {
    for (const afterMs of [-1, 0.5, Number.NaN, Infinity]) {
      for (const later of [retry, snooze])
        expect(() => later({ afterMs })).toThrow(
          expect.objectContaining({ code: 'ARGUMENT_INVALID', data: { argument: 'afterMs', value: afterMs } }),
        )
    }
  })

  test('can be stored whatever a handler says, and never at any length', () => {
    expect(success().toMessage()).toBeUndefined()
    expect(failure('a\0b\ud800').toMessage()).toBe('a\ufffdb\ufffd')
    expect(failure(42).toMessage()).toBe('42')
    expect(success('x'.repeat(100_000)).toMessage()).toBe(`${'x'.repeat(65_535)}…`)
    expect(success('x'.repeat(65_536)).toMessage()).toBe('x'.repeat(65_536))
    // A character of two halves stays whole, or is left out.
    expect(success(`${'x'.repeat(65_533)}😀yy`).toMessage()).toBe(`${'x'.repeat(65_533)}😀…`)
    expect(success(`${'x'.repeat(65_534)}😀y`).toMessage()).toBe(`${'x'.repeat(65_534)}…`)
    const ascii = (text: string): string | undefined => success(text).inAscii().toMessage()
    expect(ascii(`é${'x'.repeat(65_530)}`)).toBe(String.raw`\u{e9}` + 'x'.repeat(65_530))
    expect(ascii(`é${'x'.repeat(65_531)}`)).toBe(String.raw`\u{e9}` + 'x'.repeat(65_527) + '...')
    for (const nothing of [undefined, null, '']) expect(failure(nothing).explanations).toEqual([])
    expect(failure(0).include(false).explanations).toEqual(['0', 'false'])
  })

  test('is the same as another that would be stored alike', () => {
    expect(success('a').isSameAs(success('a'))).toBe(true)
    expect(success('a').isSameAs(success('b'))).toBe(false)
    expect(suspension().isSameAs(retry({ afterMs: 1 }))).toBe(false)
    const error = new Error('broken')
    expect(failure(error).isSameAs(failure(error))).toBe(true)
    expect(failure(error).isSameAs(failure(new Error('other')))).toBe(false)
    expect(failure('a').isSameAs(filter('a'))).toBe(false)
    expect(success().isSameAs(success())).toBe(true)
    expect(filter('a').because('cancelled').isSameAs(filter('a').because('cancelled'))).toBe(true)
    expect(filter('a').because('cancelled').isSameAs(filter('a'))).toBe(false)
    expect(retry({ afterMs: 1 }).isSameAs(retry({ afterMs: 2 }))).toBe(false)
    expect(retry({ afterMs: 1 }).isSameAs(snooze({ afterMs: 1 }))).toBe(false)
  })

  test('is carried out of code by an error', () => {
    expect(toDecision(new TaskDecisionError(filter('gone')))).toMatchObject({ result: 'filter', explanations: ['gone'] })
    expect(toDecision(new Error('x'))).toMatchObject({ result: 'failure' })
    expect(toDecision(new TaskDecisionError(filter('gone').withContinuation(true))).continued).toBe(true)
    expect(new TaskDecisionError(filter('gone'))).toMatchObject({ name: 'TaskDecisionError', message: 'gone' })
    expect(new TaskDecisionError(filter()).message).toBe('decided: filter')
    expect(toDecision('text')).toMatchObject({ result: 'failure', explanations: ['text'] })
  })

  test('is carried by an error that it caused, however deep', () => {
    const gone = filter('gone')
    const inner = new Error('inner', { cause: new TaskDecisionError(gone) })
    expect(toDecision(new Error('outer', { cause: inner }))).toBe(gone)
    expect(carriedDecision(inner)).toBe(gone)
    expect(carriedDecision(new Error('plain', { cause: 'text' }))).toBeUndefined()
    inner.cause = inner
    expect(carriedDecision(inner)).toBeUndefined()
  })
})

describe('maps of decisions', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((identifier, sequence): Task => ({ topic: 't', identifier, sequence })) as [
    Task,
    Task,
    Task,
  ]

  test('are combined if they share no task', () => {
    expect([...TaskDecision.combine(new Map([[a, success()]]), new Map([[b, filter()]])).keys()]).toEqual([a, b])
    expect(() => TaskDecision.combine(new Map([[a, success()]]), new Map([[a, filter()]]))).toThrow(
      expect.objectContaining({ code: 'TASK_DUPLICATE', data: { task: a } }),
    )
  })

  test('are merged where they share tasks', () => {
    const merged = TaskDecision.merge(
      new Map([
        [a, success()],
        [b, success()],
      ]),
      new Map([
        [b, filter()],
        [c, failure()],
      ]),
    )
    expect([...merged].map(([task, { result }]) => [task.identifier, result])).toEqual([['b', 'filter']])
  })
})

test('a decision tells what it does: a retry and a snooze are no suspensions', () => {
  const { failure, filter, retry, snooze, success, suspension } = TaskDecision
  const decisions = [success(), filter(), failure(), suspension(), retry({ afterMs: 0 }), snooze({ afterMs: 0 })]
  expect(decisions.map(({ outcome }) => outcome)).toEqual(['success', 'filter', 'failure', 'suspension', 'retry', 'snooze'])
})
