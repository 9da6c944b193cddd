/** A limiter serves as many as it has slots for, in the order of asking. */
import { getEventListeners } from 'node:events'
import { bound, prioritizing, unlimited } from '@taskstream/task-processor'
import type { TaskLimiter } from '@taskstream/task-processor'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const never = new AbortController().signal
/** Everything that can go on by itself has gone on. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** What an acquire has come to, so far. */
interface Asked {
  readonly topic: string
  readonly abort: AbortController
  state: 'waiting' | 'holding' | 'aborted' | 'released'
  release: () => void
}

function ask(limiter: TaskLimiter, topic: string): Asked {
  const asked: Asked = { topic, abort: new AbortController(), state: 'waiting', release: () => {} }
  limiter.acquire(topic, asked.abort.signal).then(
    (release) => {
      asked.state = 'holding'
      asked.release = () => {
        release()
        asked.state = 'released'
      }
    },
    () => {
      asked.state = 'aborted'
    },
  )
  return asked
}

describe('a limiter', () => {
  test('without a limit keeps nobody waiting', async () => {
    const releases = await Promise.all(Array.from({ length: 100 }, () => unlimited.acquire('a', never)))
    for (const release of releases) release()
  })

  test('serves as many as it has slots for, and then in the order of asking', async () => {
    const limiter = bound(2)
    const asked = ['a', 'b', 'c', 'd'].map((topic) => ask(limiter, topic))
    await settled()
    expect(asked.map(({ state }) => state)).toEqual(['holding', 'holding', 'waiting', 'waiting'])
    asked[1]!.release()
    await settled()
    expect(asked.map(({ state }) => state)).toEqual(['holding', 'released', 'holding', 'waiting'])
  })

  test('listens to nobody any more whom it has served', async () => {
    const limiter = bound(1)
    const [first, second] = [ask(limiter, 'a'), ask(limiter, 'b')]
    await settled()
    expect([first, second].map(({ abort }) => getEventListeners(abort.signal, 'abort').length)).toEqual([0, 1])
    first!.release()
    await settled()
    expect([second!.state, getEventListeners(second!.abort.signal, 'abort').length]).toEqual(['holding', 0])
  })

  test('takes a slot back once, however often it is given back', async () => {
    const limiter = bound(1)
    const release = await limiter.acquire('a', never)
    release()
    release()
    const asked = [ask(limiter, 'b'), ask(limiter, 'c')]
    await settled()
    expect(asked.map(({ state }) => state)).toEqual(['holding', 'waiting'])
  })

  test('serves topics of a higher priority first, and within a priority in order', async () => {
    const limiter = prioritizing(1, (topic) => Number(topic[0]))
    const first = ask(limiter, '0')
    await settled()
    const asked = ['1a', '2a', '1b', '3a', '2b'].map((topic) => ask(limiter, topic))
    const served: string[] = []
    let holding = first
    for (let round = 0; round < 5; round++) {
      holding.release()
      await settled()
      holding = asked.find(({ state }) => state === 'holding')!
      served.push(holding.topic)
    }
    expect(served).toEqual(['3a', '2a', '2b', '1a', '1b'])
  })

  test('lets nobody in whose signal was aborted before, and refuses sizes that are none', async () => {
    await expect(bound(1).acquire('a', AbortSignal.abort(new Error('no')))).rejects.toThrow('no')
    for (const slots of [0, 0.5, 10_001])
      expect(() => bound(slots)).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
  })

  test('never has more out than its slots, never loses one, and serves who should be next, whatever is aborted when', async () => {
    const action = fc.record({
      kind: fc.constantFrom('ask', 'release', 'abort', 'release and abort'),
      which: fc.nat(20),
      priority: fc.nat(2),
      turn: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(action, { maxLength: 40 }), async (slots, actions) => {
        const limiter = prioritizing(slots, (topic) => Number(topic))
        const asked: Asked[] = []
        /** Who is served next, as a list says. */
        let free = slots
        const line: Asked[] = []
        const expected = new Map<Asked, Asked['state']>()
        const serve = (): void => {
          while (free > 0 && line.length > 0) {
            free--
            expected.set(line.shift()!, 'holding')
          }
        }
        const release = (one: Asked | undefined): void => {
          if (!one || expected.get(one) !== 'holding') return
          one.release()
          expected.set(one, 'released')
          free++
          serve()
        }
        const abort = (one: Asked | undefined): void => {
          if (!one || expected.get(one) !== 'waiting') return
          one.abort.abort()
          expected.set(one, 'aborted')
          line.splice(line.indexOf(one), 1)
        }
        for (const { kind, which, priority, turn } of actions) {
          const one = asked[which % Math.max(1, asked.length)]
          if (kind === 'ask') {
            const next = ask(limiter, String(priority))
            asked.push(next)
            expected.set(next, 'waiting')
            const behind = line.findIndex(({ topic }) => Number(topic) < priority)
            line.splice(behind < 0 ? line.length : behind, 0, next)
            serve()
            // Until it holds its slot it cannot give it back.
            await settled()
          }
          if (kind.startsWith('release')) release(one)
          // At the very moment when a slot is handed over.
          if (kind.endsWith('abort')) abort(kind === 'abort' ? one : line[0])
          if (turn || kind !== 'ask') await settled()
        }
        await settled()
        expect(asked.map(({ state }) => state)).toEqual(asked.map((one) => expected.get(one)))
        // Everything given back, all slots are there.
        for (const one of line.toSorted()) abort(one)
        for (const one of asked) if (one.state === 'holding') one.release()
        const all = Array.from({ length: slots + 1 }, () => ask(limiter, '0'))
        await settled()
        expect(all.filter(({ state }) => state === 'holding')).toHaveLength(slots)
      }),
      { numRuns: 300 },
    )
  })
})
