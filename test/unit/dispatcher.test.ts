/** What is repeated, what is limited, and whose error it is. */
import { getEventListeners } from 'node:events'
import { TaskError } from '@taskstream/task-api'
import type { TransactionOptions, TransactionSource } from '@taskstream/task-api'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Dispatcher } from '../../packages/task-processor/src/core/dispatcher.ts'
import { Patience } from '../../packages/task-processor/src/core/patience.ts'
import { answering, soon } from './answering.ts'

const gone = new TaskError('DATABASE_UNAVAILABLE', 'gone')
const refused = new TaskError('ARGUMENT_INVALID', 'refused')
const slow = new TaskError('DATABASE_BUSY', 'slow', { shortOf: 'time' })
const locked = new TaskError('DATABASE_BUSY', 'locked', { shortOf: 'lock' })
const ours = new Error('what the driver throws')

interface Made {
  readonly dispatcher: Dispatcher<object>
  /** `begin`, `autocommit`, `limit 100`. */
  readonly asked: string[]
  readonly given: TransactionOptions[]
  readonly source: TransactionSource<object>
}

function make(more: Partial<TransactionSource<object>> = {}, autocommit = true): Made {
  const asked: string[] = []
  const given: TransactionOptions[] = []
  const beginning =
    (name: string): TransactionSource<object> =>
    async (work, options = {}) => {
      asked.push(name)
      given.push(options)
      return work({})
    }
  const source: TransactionSource<object> = Object.assign(
    beginning('begin'),
    autocommit && { autocommit: beginning('autocommit') },
    more,
  )
  const repository = { limitStatements: async (_: object, ms: number) => void asked.push(`limit ${ms}`) }
  return { dispatcher: new Dispatcher({ repository, transactions: source, statementTimeoutMs: 5_000 }), asked, given, source }
}

describe('a dispatcher', () => {
  test('opens a transaction for what is several statements, and none for one, where its source can do so', async () => {
    const { dispatcher, asked } = make()
    expect(await dispatcher.once(() => 1)).toBe(1)
    await dispatcher.once(() => 2, { single: true })
    expect(await dispatcher.once((_, lift) => lift(() => 3))).toBe(3)
    asked.pop()
    expect(asked).toEqual(['begin', 'autocommit'])
    const plain = make({}, false)
    expect(await plain.dispatcher.once(() => 3, { single: true })).toBe(3)
    expect(plain.asked).toEqual(['begin'])
  })

  test('begins nothing for who has given up before, nor after it is closed', async () => {
    const { dispatcher, asked } = make()
    const controller = new AbortController()
    controller.abort(refused)
    await expect(dispatcher.once(() => 1, { signal: controller.signal })).rejects.toBe(refused)
    dispatcher.close(gone)
    await expect(dispatcher.once(() => 1)).rejects.toBe(gone)
    expect(asked).toEqual([])
  })

  test.each(['end', 'close'] as const)('gives up what is under way: %s', async (how) => {
    const { dispatcher, given } = make()
    const working = dispatcher.once(() => new Promise(() => {}))
    await Promise.resolve()
    dispatcher[how](gone)
    await expect(soon(working)).rejects.toBe(gone)
    expect(given[0]?.signal?.reason).toBe(gone)
    if (how === 'end') expect(await dispatcher.once(() => 1)).toBe(1)
  })

  test('has nothing to do with what is over, and leaves no timer behind', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const { dispatcher, given } = make()
      await dispatcher.once(() => 1)
      expect(vi.getTimerCount()).toBe(1)
      dispatcher.end(gone)
      expect(given[0]?.signal?.aborted).toBe(false)
      dispatcher.rest()
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  test('gives up what somebody has given up, and listens no more when it is over', async () => {
    const { dispatcher } = make()
    const controller = new AbortController()
    const working = dispatcher.once(() => new Promise(() => {}), { signal: controller.signal })
    await Promise.resolve()
    controller.abort(refused)
    await expect(soon(working)).rejects.toBe(refused)
    const other = new AbortController()
    const listening = (): number => getEventListeners(other.signal, 'abort').length
    expect(await dispatcher.once(listening, { signal: other.signal })).toBe(1)
    expect(listening()).toBe(0)
  })
})

describe('after what took too long', () => {
  let nowMs = 1_000
  beforeEach(() => {
    nowMs = 1_000
    vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })
  const after = async (thrown: Error, foreign = false): Promise<Made> => {
    const made = make()
    await expect(made.dispatcher.once(() => Promise.reject(thrown), { foreign })).rejects.toBe(thrown)
    made.asked.splice(0)
    return made
  }

  test('the server is asked to limit what is ours, in a transaction, for a minute', async () => {
    const { dispatcher, asked } = await after(slow)
    expect(await dispatcher.once(() => 7, { single: true })).toBe(7)
    await dispatcher.once(() => {}, { statementTimeoutMs: 300 })
    await dispatcher.once(() => {}, { foreign: true })
    expect(asked).toEqual(['begin', 'limit 5000', 'begin', 'limit 300', 'begin'])
    asked.splice(0)
    nowMs += 59_999.5
    await dispatcher.once(() => {})
    nowMs += 0.5
    await dispatcher.once(() => {})
    await dispatcher.once(() => {}, { single: true })
    expect(asked).toEqual(['begin', 'limit 5000', 'begin', 'autocommit'])
  })

  test.each([
    ['waited for a lock', locked, false],
    ['failed', refused, false],
    ['was somebody else’s', slow, true],
  ])('which only %s, nothing is limited', async (_, error, foreign) => {
    const { dispatcher, asked } = await after(error, foreign)
    await dispatcher.once(() => {})
    expect(asked).toEqual(['begin'])
  })

  test('it is limited too where it was given up here', async () => {
    const { dispatcher, asked } = make()
    const working = dispatcher.once(() => new Promise(() => {}), { foreign: true })
    await Promise.resolve()
    dispatcher.end(gone)
    await expect(soon(working)).rejects.toBe(gone)
    asked.splice(0)
    await dispatcher.once(() => {})
    expect(asked).toEqual(['begin', 'limit 5000'])
  })
})

test('one statement that is not answered may be done, where it is committed by itself', async () => {
  vi.useFakeTimers()
  try {
    const outcomes = [true, false].map(async (single) => {
      const { dispatcher } = make()
      const unanswered = dispatcher.once(() => new Promise(() => {}), { single })
      return unanswered.catch((error: TaskError) => [error.code, error.data['outcome']])
    })
    await vi.advanceTimersByTimeAsync(7_000)
    expect(await Promise.all(outcomes)).toEqual([
      ['DATABASE_BUSY', 'unknown'],
      ['DATABASE_BUSY', undefined],
    ])
  } finally {
    vi.useRealTimers()
  }
})

test('what somebody else’s code did in a transaction counts only while that is open', async () => {
  for (const [isOpen, outcome] of [
    [() => true, 'done'],
    [undefined, 'done'],
    [() => false, 'TRANSACTION_CLOSED'],
  ] as const) {
    const { dispatcher } = make((isOpen && { isOpen }) as never)
    const done = dispatcher.once((_, lift) => lift(() => 'done'))
    expect(await done.catch((error: TaskError) => error.code)).toBe(outcome)
  }
})

describe('an error', () => {
  const { dispatcher } = make({ classify: (error: unknown) => (error === ours ? gone : error) } as never)

  test.each([
    ['of the moment', gone, true, false, true],
    ['about what was asked', refused, true, false, false],
    ['of the driver, which nobody has named', ours, true, false, false],
    ['of the driver in somebody else’s code, which is named', ours, true, true, true],
    ['of somebody else’s code', new Error('mine'), true, true, false],
    ['before a transaction, whatever it is', ours, false, false, true],
    ['before a transaction, about what was asked', refused, false, false, false],
    ['about a password', new TaskError('AUTHENTICATION_FAILED', 'no'), false, false, true],
    ['about a database that is not there', new TaskError('DATABASE_MISSING', 'no'), false, false, true],
    ['about rights, before a transaction', new TaskError('PERMISSION_DENIED', 'no'), false, false, true],
    ['about rights, in a transaction', new TaskError('PERMISSION_DENIED', 'no'), true, false, false],
  ] as const)('%s', (_, error, begun, foreign, passing) => {
    expect(dispatcher.isPassing(error, begun, foreign)).toBe(passing)
  })

  test('of somebody else’s code is its own word where nobody can name it', () => {
    expect(dispatcher.isPassing(ours, true)).toBe(false)
    expect(make().dispatcher.isPassing(gone, true, true)).toBe(true)
    expect(make().dispatcher.isPassing(ours, true, true)).toBe(false)
  })
})

describe('what is to be done in any case', () => {
  beforeEach(() => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  test('is repeated after pauses, and limits nothing, until it works', async () => {
    const { dispatcher, asked } = make()
    await dispatcher.once(() => Promise.reject(slow)).catch(() => {})
    asked.splice(0)
    const { clock, pauses } = answering()
    const errors = [gone, locked, gone]
    const retried: unknown[] = []
    const result = await dispatcher.persist(
      () => {
        const error = errors.shift()
        if (error) throw error
        return 7
      },
      { patience: new Patience(clock), onRetry: (error) => void retried.push(error), isForeign: () => false },
    )
    expect([result, pauses, retried]).toEqual([7, [37.5, 75, 150], [gone, locked, gone]])
    expect(asked).toEqual(['begin', 'begin', 'begin', 'begin'])
  })

  test('is repeated no more when nobody waits, nor for what is not of the moment', async () => {
    const { dispatcher, asked } = make()
    const { clock, pauses } = answering()
    const patience = new Patience(clock)
    const options = { patience, onRetry: () => {}, isForeign: () => false }
    await expect(dispatcher.persist(() => Promise.reject(refused), options)).rejects.toBe(refused)
    await expect(dispatcher.persist(() => Promise.reject(ours), options)).rejects.toBe(ours)
    patience.end()
    await expect(dispatcher.persist(() => Promise.reject(gone), options)).rejects.toBe(gone)
    expect([asked.length, pauses]).toEqual([3, []])
  })

  test('is repeated where it has not begun, and where the database says so of somebody else’s error, by its name', async () => {
    let begins = 0
    const source: TransactionSource<object> = Object.assign(
      (async (work) => {
        if (begins++ === 0) throw ours
        return work({})
      }) as TransactionSource<object>,
      { classify: (error: unknown) => (error === ours ? gone : (error as Error)) as TaskError },
    )
    const dispatcher = new Dispatcher({
      repository: { limitStatements: async () => {} },
      transactions: source,
      statementTimeoutMs: 5_000,
    })
    const { clock } = answering()
    const retried: unknown[] = []
    const options = { patience: new Patience(clock), onRetry: (error: unknown) => void retried.push(error) }
    expect(await dispatcher.persist(() => 7, { ...options, isForeign: () => false })).toBe(7)
    let works = 0
    const work = (): number => {
      if (works++ === 0) throw ours
      return 8
    }
    expect(await dispatcher.persist(work, { ...options, isForeign: (error) => error === ours })).toBe(8)
    expect(retried).toEqual([ours, gone])
  })

  test('is tried once by who has no patience, and with it told of when it fails and when it works', async () => {
    const { dispatcher, asked } = make()
    const { clock } = answering()
    const told: unknown[] = []
    const condition = { failed: (error: unknown) => void told.push(error), worked: () => void told.push('worked') }
    await expect(dispatcher.patiently(() => Promise.reject(gone), undefined, condition)).rejects.toBe(gone)
    expect(await dispatcher.patiently(() => 6, undefined, condition)).toBe(6)
    expect([asked.length, told]).toEqual([2, []])
    let works = 0
    const work = (): number => {
      if (works++ === 0) throw gone
      return 7
    }
    expect(await dispatcher.patiently(work, new Patience(clock), condition)).toBe(7)
    expect(told).toEqual([gone, 'worked'])
    // What we do ourselves has names already.
    const naming = make({ classify: () => gone } as never).dispatcher
    await expect(naming.patiently(() => Promise.reject(ours), new Patience(clock), condition)).rejects.toBe(ours)
    expect(told).toHaveLength(2)
  })
})

describe('as a source of transactions', () => {
  test('it is the source that it dispatches to, limits apart', async () => {
    const classify = (error: unknown): TaskError => error as TaskError
    const { dispatcher, asked, given } = make({ connections: 3, inside: 'here', classify } as never)
    const { source } = dispatcher
    expect([source.connections, source.inside, source.classify]).toEqual([3, 'here', classify])
    expect(await source(() => 1)).toBe(1)
    const controller = new AbortController()
    expect(await source.autocommit!(() => 2, { signal: controller.signal })).toBe(2)
    expect(asked).toEqual(['begin', 'autocommit'])
    controller.abort(refused)
    await expect(source.autocommit!(() => 2, { signal: controller.signal })).rejects.toBe(refused)
    await expect(source(() => 2, { signal: controller.signal })).rejects.toBe(refused)
    expect(given).toHaveLength(2)
    const plain = make({}, false).dispatcher.source
    expect(['autocommit' in plain, 'classify' in plain, plain.connections]).toEqual([false, false, undefined])
  })
})
