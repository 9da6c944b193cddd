/** A listener of a group that stops lets another node lead at once only if nothing of its own goes on. */
import { coordinated } from '@taskstream/task-coordination'
import type { CoordinatedListener } from '@taskstream/task-coordination'
import { describe, expect, test } from 'vitest'
import { memoryGroup } from '../coordination/memory-group.ts'
import type { MemoryGroup, MemoryTransaction } from '../coordination/memory-group.ts'

/** A listener that leads, and runs this service. */
async function leading(group: MemoryGroup, service: () => unknown): Promise<CoordinatedListener<MemoryTransaction, 'sync'>> {
  const listener = coordinated({ trigger: { intervalMs: 60_000 }, clock: group.clock }, group.node('a').options)
  listener.attach(service, 'service')
  await listener.start()
  await group.pass(100)
  return listener
}

describe('a listener of a group', () => {
  test.each([
    ['stops gracefully', (listener) => listener.gracefulStop()],
    ['stops immediately', (listener) => listener.immediateStop()],
    ['is disposed of', (listener) => listener[Symbol.asyncDispose]()],
    ['stops gracefully, and then immediately', (listener) => Promise.all([listener.gracefulStop(), listener.immediateStop()])],
  ] as readonly (readonly [string, (listener: CoordinatedListener<MemoryTransaction, 'sync'>) => Promise<unknown>])[])(
    'that %s leaves the group if its fires have ended, and without a word if one goes on',
    async (how, stop) => {
      for (const [service, beats] of [
        [() => {}, []],
        [() => new Promise(() => {}), ['a']],
      ] as const) {
        const group = memoryGroup()
        const listener = await leading(group, service)
        let isStopped = false
        void stop(listener).then(() => (isStopped = true))
        // Nobody waits for a fire that never ends, unless that is asked for.
        await group.pass(15_000)
        expect([isStopped, Object.keys(group.rows.beats)]).toEqual([how !== 'stops gracefully' || beats.length === 0, beats])
      }
    },
  )
})
