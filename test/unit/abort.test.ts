/** A transaction learns that it is given up through its signal, and pays for one only when it asks. */
import { getEventListeners } from 'node:events'
import { abortedBy, abortOf, LazyAbortController } from '@taskstream/task-api'
import { pgTransactions } from '@taskstream/task-sql/pg'
import { describe, expect, it } from 'vitest'

const why = new Error('nobody waits any more')

describe('options of a transaction that may be given up', () => {
  it('carry a signal for a source that knows of nothing else', () => {
    const controller = new LazyAbortController()
    const { signal } = abortedBy(controller)
    expect(signal?.aborted).toBe(false)
    controller.abort(why)
    expect(signal?.aborted).toBe(true)
    expect(signal?.reason).toBe(why)
  })

  it('carry one signal, whoever asks, and the reason that was given first', () => {
    const controller = new LazyAbortController()
    const options = abortedBy(controller)
    const { signal } = options
    expect(options.signal).toBe(signal)
    expect(controller.reason).toBeUndefined()
    controller.abort(why)
    controller.abort(new Error('another'))
    expect([controller.reason, signal?.reason]).toEqual([why, why])
    expect(abortOf(options)).toBe(controller)
  })

  it('carry a signal that is aborted, to whoever asks for it too late', () => {
    const controller = new LazyAbortController()
    const options = abortedBy(controller)
    controller.abort(why)
    expect(options.signal?.reason).toBe(why)
  })

  it('may be copied by a source that hands them on', () => {
    const controller = new LazyAbortController()
    const copied = { ...abortedBy(controller) }
    controller.abort(why)
    expect(copied.signal?.reason).toBe(why)
    expect(abortOf(copied)?.reason).toBe(why)
  })

  it.for([
    [
      'a controller of ours',
      () => {
        const controller = new LazyAbortController()
        return { options: abortedBy(controller), end: () => controller.abort(why) }
      },
    ],
    [
      "somebody's own signal",
      () => {
        const controller = new AbortController()
        return { options: { signal: controller.signal }, end: () => controller.abort(why) }
      },
    ],
  ] as const)('tell of %s: once, and nobody who no longer listens', ([, begin]) => {
    const { options, end } = begin()
    const abort = abortOf(options)!
    const heard: string[] = []
    const forget = abort.onAbort(() => heard.push('forgotten'))
    abort.onAbort(() => heard.push('first'))
    abort.onAbort(() => heard.push('second'))
    forget()
    expect(abort.aborted).toBe(false)
    expect(() => abort.throwIfAborted()).not.toThrow()
    end()
    end()
    expect(heard).toEqual(['first', 'second'])
    expect(abort.aborted).toBe(true)
    expect(abort.reason).toBe(why)
    expect(() => abort.throwIfAborted()).toThrow(why)
  })

  it('are forgotten by a source of several servers once its transaction is over', async () => {
    const client = { query: async () => ({ rows: [{ read_only: false }] }), on: () => {}, off: () => {}, release: () => {} }
    const pool = { connect: async () => client }
    const { signal } = new AbortController()
    await pgTransactions([pool, pool])(async () => {}, { signal })
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('say nothing where there is nothing to be given up', () => {
    expect(abortOf({})).toBeUndefined()
    expect(abortOf()).toBeUndefined()
  })
})
