/** If a poll is answered after its node was stopped, its tasks are handed back without a charged try. */
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

const hour = 3_600_000
/** Intervals so long that only polls come during a test. */
const patient = { heartbeatIntervalMs: 6 * hour, leaseMs: 48 * hour, maintenanceIntervalMs: 6 * hour }

/** Ends the transaction of a poll, which begins anew when it is let go. */
class Stall extends Error {}

describe.skipIf(!canRun)('what a late poll brings', () => {
  const fixture = useNodeFixture('late-poll')

  test('is handed back unhandled, where it was under way as its node was stopped', async () => {
    const stalled = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const began = Promise.withResolvers<void>()
    let handled = 0
    let isStalled = false
    const repository: Tasks = {
      ...fixture.tasks,
      poll: (...args: Parameters<Tasks['poll']>) => {
        if (handled > 0 && !isStalled) throw new Stall()
        return fixture.tasks.poll(...args)
      },
    }
    const node = fixture.nodeOf({
      ...patient,
      repository,
      // While the first batch is handled, the next poll is on its way; it arrives when that batch has been handed back.
      transactions: async (work) => {
        try {
          return await fixture.commit(work)
        } catch (error) {
          if (!(error instanceof Stall)) throw error
          isStalled = true
          stalled.resolve()
          await gate.promise
          return fixture.commit(work)
        }
      },
    })
    node.process(fixture.topic, {
      handler: async (_, { signal }) => {
        handled++
        began.resolve()
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
      },
    })
    await node.start()
    await fixture.push('a')
    node.wake(fixture.topic)
    await began.promise
    await stalled.promise
    const stopped = node.stop({ graceMs: 1, abortMs: 100 })
    await expect.poll(fixture.states).toEqual({ ready: 1 })
    gate.resolve()
    const { finished, returned, abandoned } = await stopped
    expect([finished, returned.map(({ identifier }) => identifier), abandoned]).toEqual([[], ['a'], []])
    expect(handled).toBe(1)
    // The task was polled twice, and no try is charged for it.
    expect(await fixture.page()).toMatchObject([{ state: 'ready', attempt: 2, tries: 0 }])
  })
})
