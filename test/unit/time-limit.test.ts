/** A transaction that the database does not answer is given up in time, and not before. */
import { setTimeout as delay } from 'node:timers/promises'
import { TaskError } from '@taskstream/task-api'
import type { TransactionOptions, TransactionSource } from '@taskstream/task-api'
import { describe, expect, it } from 'vitest'
import { Dispatcher } from '../../packages/task-processor/src/core/dispatcher.ts'

const never = new Promise<never>(() => {})
const statementTimeoutMs = 100

/** A source whose transactions begin, and end, as soon as these have resolved. */
function sourceOf({ begin = Promise.resolve(), end = Promise.resolve() }: { begin?: Promise<void>; end?: Promise<void> } = {}) {
  const given: TransactionOptions[] = []
  const source: TransactionSource<object> = async (work, options = {}) => {
    given.push(options)
    await begin
    const result = await work({})
    await end
    return result
  }
  return {
    given,
    dispatcher: new Dispatcher({ repository: { limitStatements: async () => {} }, transactions: source, statementTimeoutMs }),
  }
}

describe('a transaction that the database does not answer', () => {
  it.for([
    ['to begin it', { begin: never }, async () => {}, 'DATABASE_UNAVAILABLE'],
    ['what is done in it', {}, () => never, 'DATABASE_BUSY'],
    ['to end it', { end: never }, async () => {}, 'DATABASE_UNAVAILABLE'],
  ] as const)('is given up, and its source told: %s', async ([, how, work, code]) => {
    const { dispatcher, given } = sourceOf(how)
    await expect(dispatcher.once(work)).rejects.toMatchObject({ code })
    expect(given[0]?.signal?.reason).toMatchObject({ code })
  })

  it('is given up though others were answered before it, and beside it', async () => {
    const { dispatcher } = sourceOf()
    const isOver = { value: false }
    const hanging = dispatcher.once(() => never).finally(() => (isOver.value = true))
    hanging.catch(() => {})
    while (!isOver.value) await dispatcher.once(() => delay(5))
    await expect(hanging).rejects.toMatchObject({ code: 'DATABASE_BUSY' })
    await expect(dispatcher.once(() => never)).rejects.toMatchObject({ code: 'DATABASE_BUSY' })
  })

  it('is given up on time beside one that may take longer', async () => {
    const { dispatcher } = sourceOf()
    const long = dispatcher.once(() => never, { statementTimeoutMs: 3_600_000 })
    await expect(dispatcher.once(() => never)).rejects.toMatchObject({ data: { timeoutMs: statementTimeoutMs } })
    dispatcher.end(new TaskError('SHUTDOWN', 'it was long enough'))
    await expect(long).rejects.toMatchObject({ code: 'SHUTDOWN' })
  })

  it('is not given up while somebody else has his part in it, but after that', async () => {
    const { dispatcher } = sourceOf()
    const long = await dispatcher.once(async (_, lift) => lift(() => delay(5 * statementTimeoutMs, 'as long as it takes')))
    expect(long).toBe('as long as it takes')
    const late = dispatcher.once(async (_, lift) => {
      await lift(() => delay(5 * statementTimeoutMs))
      return never
    })
    await expect(late).rejects.toMatchObject({ code: 'DATABASE_BUSY' })
  })

  it('has as long for each of its steps', async () => {
    const patientMs = 500
    const { dispatcher } = sourceOf({ begin: delay(0.8 * patientMs), end: delay(2.2 * patientMs) })
    const done = dispatcher.once(() => delay(0.8 * patientMs, 'done'), { statementTimeoutMs: patientMs })
    expect(await done).toBe('done')
  })

  it('is given up when its caller says so, or the node', async () => {
    const { dispatcher } = sourceOf()
    const caller = new AbortController()
    const called = dispatcher.once(() => never, { signal: caller.signal })
    caller.abort(new TaskError('SHUTDOWN', 'the caller has gone'))
    await expect(called).rejects.toMatchObject({ code: 'SHUTDOWN' })
    const closed = dispatcher.once(() => never)
    dispatcher.close(new TaskError('DATABASE_UNAVAILABLE', 'the node has gone'))
    await expect(closed).rejects.toThrow('the node has gone')
    await expect(dispatcher.once(async () => {})).rejects.toThrow('the node has gone')
  })
})
