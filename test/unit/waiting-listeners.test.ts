/** Whoever waits listens to a signal that may live as long as the process: when the waiting is over, nothing of it is left there. */
import { getEventListeners } from 'node:events'
import { bound, prioritizing } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'

describe.each([
  ['bound', () => bound(1)],
  ['prioritizing', () => prioritizing(1, (topic) => Number(topic))],
] as const)('a limiter (%s)', (_, make) => {
  const listeners = ({ signal }: AbortController): number => getEventListeners(signal, 'abort').length

  test('listens to a signal while it waits, and not when it has been served', async () => {
    const limiter = make()
    const living = new AbortController()
    let release = await limiter.acquire('0', living.signal)
    // Served at once, it never listened.
    expect(listeners(living)).toBe(0)
    for (let round = 1; round <= 100; round++) {
      const next = limiter.acquire('0', living.signal)
      expect(listeners(living)).toBe(1)
      release()
      release = await next
      expect(listeners(living)).toBe(0)
    }
    release()
  })

  test('is listened to by each that waits, and by those that still do when others have been served', async () => {
    const limiter = make()
    const [living, other] = [new AbortController(), new AbortController()]
    const release = await limiter.acquire('0', living.signal)
    const waiting = [limiter.acquire('0', living.signal), limiter.acquire('0', living.signal), limiter.acquire('0', other.signal)]
    expect([listeners(living), listeners(other)]).toEqual([2, 1])
    release()
    const second = await waiting[0]!
    expect([listeners(living), listeners(other)]).toEqual([1, 1])
    other.abort(new Error('no more'))
    await expect(waiting[2]).rejects.toThrow('no more')
    second()
    ;(await waiting[1]!)()
    expect(listeners(living)).toBe(0)
    // Whoever was served keeps its slot, whatever is aborted then.
    living.abort(new Error('over'))
    await expect(limiter.acquire('0', living.signal)).rejects.toThrow('over')
  })
})
