/** If the database refuses one task, other tasks are not affected, and no task stays held without a batch that answers for it. */
import { TaskDecision } from '@taskstream/task-api'
import type { Completion, HeldTask, TaskState } from '@taskstream/task-api'
import { buffering, eachTask, fixed } from '@taskstream/task-processor'
import type { BatchHandler, TaskListener } from '@taskstream/task-processor'
import { afterEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'
import { refusal, refuse, results } from './refusals.ts'

const hour = 3_600_000
/** Nothing comes by itself: heartbeats, maintenance, and pauses wait for the test's clock. */
const patient = { heartbeatIntervalMs: 6 * hour, leaseMs: 48 * hour, maintenanceIntervalMs: 6 * hour }
const names = (tasks: readonly { readonly identifier: string }[]): string[] => tasks.map(({ identifier }) => identifier)
const succeedAll = (tasks: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
  new Map(tasks.map((task) => [task, TaskDecision.success()]))

describe.skipIf(!canRun)('a task that the database refuses to write', () => {
  const fixture = useNodeFixture('undecided')
  let refusing: AsyncDisposable | undefined
  const allow = async (): Promise<void> => {
    await refusing?.[Symbol.asyncDispose]()
    refusing = undefined
  }
  afterEach(allow)

  const refuseBad = async (states: readonly TaskState[], prefix = 'bad'): Promise<void> => {
    refusing = await refuse(fixture.subject, prefix, states)
  }
  /** Returns a listener that notes which activity failed, with which tasks, and how. */
  const hearing = (): TaskListener & { readonly told: [activity: string, tasks: string[], error: string][] } => {
    const told: [activity: string, tasks: string[], error: string][] = []
    return {
      told,
      onError: ({ activity, tasks = [], error }) => void told.push([activity, names(tasks), messageOf(error)]),
    }
  }
  const states = (): Promise<Record<string, number>> => fixture.states()
  const pushAround = (): Promise<unknown> => fixture.push('a', 'b', 'c', 'bad', 'd', 'e', 'f')

  describe('with what was decided', () => {
    const forms: readonly [string, { readonly size: number; readonly concurrency: number }, BatchHandler<AnyTransaction>][] = [
      ['in a batch', { size: 100, concurrency: 1 }, succeedAll],
      ['in batches of one', { size: 1, concurrency: 10 }, async (batch) => succeedAll(await batch)],
      [
        'in a buffer',
        { size: 3, concurrency: 2 },
        buffering<AnyTransaction>({ buffer: 1, workers: 1, handler: succeedAll }).open('').handle,
      ],
      [
        'by a handler that completes',
        { size: 100, concurrency: 1 },
        async (batch, { complete }) => void (await complete(succeedAll(batch))),
      ],
    ]
    test.each(forms)('fails alone, %s', async (_, sizes, handler) => {
      await pushAround()
      await refuseBad(['succeeded'])
      const listener = hearing()
      await using node = fixture.nodeOf({ listener })
      node.process(fixture.topic, { ...sizes, handler })
      await node.start()
      await expect.poll(states).toEqual({ succeeded: 6, failed: 1 })
      const bad = (await fixture.page()).find(({ identifier }) => identifier === 'bad')
      expect(bad).toMatchObject({ state: 'failed', output: expect.stringContaining(refusal) })
      // The completion has failed, and is reported for that task only.
      expect(listener.told).toEqual([['complete', ['bad'], expect.stringContaining(refusal)]])
    })

    test('is tried again by the policy', async () => {
      await pushAround()
      await refuseBad(['succeeded'])
      const tries: number[] = []
      await using node = fixture.nodeOf()
      node.process(fixture.topic, {
        retry: fixed({ tries: 3, afterMs: 0 }),
        handler: eachTask((task) => void (task.identifier === 'bad' && tries.push(task.tries))),
      })
      await node.start()
      await expect.poll(states).toEqual({ succeeded: 6, failed: 1 })
      expect(tries).toEqual([1, 2, 3])
    })

    test('is told to the handler that completes it, of which its neighbours hear no failure', async () => {
      await pushAround()
      await refuseBad(['succeeded'])
      const heard = Promise.withResolvers<unknown>()
      const completions: Completion[] = []
      await using node = fixture.nodeOf({ listener: { onComplete: ({ completion }) => void completions.push(completion) } })
      node.process(fixture.topic, {
        handler: async (batch, { complete }) => {
          await complete(succeedAll(batch)).catch(heard.resolve)
        },
      })
      await node.start()
      await expect.poll(states).toEqual({ succeeded: 6, failed: 1 })
      expect(messageOf(await heard.promise)).toContain(refusal)
      await expect
        .poll(() => names(completions.flatMap(({ completed }) => completed)).toSorted())
        .toEqual('a,b,bad,c,d,e,f'.split(','))
    })

    test('fails, with its batch, the completion that a handler writes in: whose fault it is nobody can tell', async () => {
      await fixture.push('a', 'bad')
      await refuseBad(['succeeded'])
      const listener = hearing()
      await using node = fixture.nodeOf({ listener })
      node.process(fixture.topic, {
        handler: async (_, { complete }) => void (await complete((__, held) => succeedAll(held))),
      })
      await node.start()
      await expect.poll(states).toEqual({ failed: 2 })
      expect(listener.told).toEqual([['complete', ['a', 'bad'], expect.stringContaining(refusal)]])
    })

    test('is no error of the handler, and an error of the handler none of the completing', async () => {
      await fixture.push('a')
      const listener = hearing()
      await using node = fixture.nodeOf({ listener })
      node.process(fixture.topic, {
        handler: async (_, { complete }) =>
          void (await complete(() => {
            throw new Error('mine')
          })),
      })
      await node.start()
      await expect.poll(states).toEqual({ failed: 1 })
      expect(listener.told).toEqual([['handle', ['a'], expect.stringContaining('mine')]])
    })
  })

  describe('as done or failed', () => {
    test('is handed back alone, and not handled again at once', async () => {
      await pushAround()
      await refuseBad(results)
      const handled: string[] = []
      const { clock, node } = fixture.clocked(patient)
      await using _ = node
      const manager = node.process(fixture.topic, {
        idleMs: hour,
        handler: eachTask(({ identifier }) => void handled.push(identifier)),
      })
      await node.start()
      await expect.poll(states).toEqual({ succeeded: 6, ready: 1 })
      // As other tasks were completed, the task is polled once more, or twice if a poll came between. Then polling pauses.
      await expect.poll(() => handled.length).toBeGreaterThanOrEqual(8)
      // Only after such a failure does the loop sleep for less than a tenth of a second.
      await expect.poll(() => clock.pauses.filter((ms) => ms < 100).length).toBeGreaterThan(0)
      await expect.poll(states).toEqual({ succeeded: 6, ready: 1 })
      node.wake()
      await fixture.push('g')
      node.wake()
      await new Promise((resolve) => setImmediate(resolve))
      expect(handled).not.toContain('g')
      expect(handled.length).toBeLessThanOrEqual(9)
      await expect.poll(() => (clock.advance(1_000), states())).toEqual({ succeeded: 7, ready: 1 })
      // The topic is stopped first: if the trigger went in the midst of a completion, the failure could be written.
      await manager.stop()
      await allow()
      await manager.start()
      await expect.poll(() => (clock.advance(10_000), states())).toEqual({ succeeded: 8 })
      // No try was counted but the last.
      expect((await fixture.page()).map(({ tries }) => tries)).toEqual([1, 1, 1, 1, 1, 1, 1, 1])
    })

    test('is rolled back in transactional mode, again and again, with a pause', async () => {
      await fixture.push('a', 'bad')
      await refuseBad(results)
      const handled: string[] = []
      const handledMs: number[] = []
      const { clock, node, pass } = fixture.clocked(patient)
      await using _ = node
      node.process(fixture.topic, {
        mode: 'transactional',
        size: 1,
        concurrency: 1,
        idleMs: hour,
        handler: eachTask(({ identifier }) => {
          handled.push(identifier)
          handledMs.push(clock.monotonicMs())
        }),
      })
      await node.start()
      // The clock stands still, so the loop can only go to sleep, for less than a tenth of a second.
      await expect.poll(() => clock.pauses.filter((ms) => ms < 100).length).toBeGreaterThan(0)
      expect(handled).toEqual(['a', 'bad'])
      await expect.poll(() => (pass(20), handled.length), { interval: 10 }).toBeGreaterThanOrEqual(4)
      expect(handled.slice(0, 4)).toEqual(['a', 'bad', 'bad', 'bad'])
      const [, firstMs, secondMs, thirdMs] = handledMs as [number, number, number, number]
      // Pauses double from a tenth of a second, less up to half of it by chance.
      expect(secondMs - firstMs).toBeGreaterThanOrEqual(50)
      expect(thirdMs - secondMs).toBeGreaterThanOrEqual(100)
      await expect.poll(states).toEqual({ succeeded: 1, ready: 1 })
      await allow()
      await expect.poll(() => (clock.advance(10_000), states())).toEqual({ succeeded: 2 })
    })
  })
})

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
