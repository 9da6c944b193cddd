/**
 * A slot of a limiter is held only for a batch. A poll that fails, finds nothing or is overtaken by a stop gives its slot back.
 */
import { TaskError } from '@taskstream/task-api'
import { bound, eachTask } from '@taskstream/task-processor'
import type { TaskLimiter } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

const aDay = 86_400_000
const patient = { heartbeatIntervalMs: aDay, leaseMs: 3 * aDay, maintenanceIntervalMs: aDay }

describe.skipIf(!canRun).each(['leased', 'transactional'] as const)('a slot, in %s mode', (mode) => {
  const fixture = useNodeFixture(`slots-${mode}`)

  /** Returns a limiter with one slot, which counts the slots that are taken. */
  const counting = (): TaskLimiter & { out: number; taken: number } => {
    const limiter = bound(1)
    const counted = {
      out: 0,
      taken: 0,
      acquire: async (topic: string, signal: AbortSignal) => {
        const release = await limiter.acquire(topic, signal)
        counted.out++
        counted.taken++
        return () => {
          counted.out--
          release()
        }
      },
    }
    return counted
  }

  test('is given back by polls that fail, and each takes one again', async () => {
    const limiter = counting()
    let failing = 0
    const { clock, node } = fixture.clocked({ ...patient, limiter }, (own) => ({
      ...own,
      poll: (...args: Parameters<Tasks['poll']>) => {
        if (failing-- > 0) throw new TaskError('DATABASE_UNAVAILABLE', 'gone')
        return own.poll(...args)
      },
    }))
    await using _ = node
    // The first batch is leased in either mode.
    await fixture.push('a')
    node.process(fixture.topic, { mode, size: 1, idleMs: aDay, handler: eachTask(() => {}) })
    await node.start()
    await expect.poll(async () => [await fixture.states(), limiter.out]).toEqual([{ succeeded: 1 }, 0])
    const before = limiter.taken
    failing = 3
    await node.submit(fixture.topic, ['b', 'c'])
    for (let count = 1; count <= 3; count++) {
      await expect.poll(() => [limiter.taken >= before + count, limiter.out]).toEqual([true, 0])
      clock.advance(1_000)
    }
    await expect.poll(fixture.states).toEqual({ succeeded: 3 })
    await expect.poll(() => limiter.out).toBe(0)
  })

  test('is given back when a stop comes between taking it and the poll, and nothing is polled then', async () => {
    const limiter = counting()
    let polls = 0
    const stopping = Promise.withResolvers<unknown>()
    const { node } = fixture.clocked({ ...patient, limiter }, (own) => ({
      ...own,
      // Due tasks are promoted between the slot and the poll.
      promoteDue: (...args: Parameters<Tasks['promoteDue']>) => {
        stopping.resolve(manager.stop())
        return own.promoteDue(...args)
      },
      poll: (...args: Parameters<Tasks['poll']>) => (polls++, own.poll(...args)),
    }))
    await using _ = node
    await fixture.push('a')
    const manager = node.process(fixture.topic, { mode, handler: eachTask(() => {}) })
    await node.start()
    await stopping.promise
    expect([limiter.taken, limiter.out, polls, await fixture.states()]).toEqual([1, 0, 0, { ready: 1 }])
  })
})
