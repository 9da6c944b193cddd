/** What the database will not write of one task costs no other, and nothing stays held that nobody answers for. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { Completion, HeldTask, TaskState } from '@taskstream/task-api'
import { buffering, eachTask, fixed, unlimited } from '@taskstream/task-processor'
import type { BatchHandler, TaskListener } from '@taskstream/task-processor'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { openNodeFixture } from './fixture.ts'
import type { NodeFixture } from './fixture.ts'
import { refusal, refuse, results } from './refusals.ts'

const hour = 3_600_000
/** Nothing comes by itself: heartbeats, maintenance, and pauses wait for the test's clock. */
const patient = { heartbeatIntervalMs: 6 * hour, leaseMs: 48 * hour, maintenanceIntervalMs: 6 * hour }
const everything: readonly TaskState[] = ['ready', ...results]
const names = (tasks: readonly { readonly identifier: string }[]): string[] => tasks.map(({ identifier }) => identifier)
const succeedAll = (tasks: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
  new Map(tasks.map((task) => [task, TaskDecision.success()]))

describe.skipIf(!canRun)('a task that the database refuses to write', () => {
  let fixture: NodeFixture
  let refusing: AsyncDisposable | undefined
  beforeAll(async () => {
    fixture = await openNodeFixture('undecided')
  })
  afterAll(() => fixture[Symbol.asyncDispose]())
  beforeEach(() => fixture.next())
  const allow = async (): Promise<void> => {
    await refusing?.[Symbol.asyncDispose]()
    refusing = undefined
  }
  afterEach(allow)

  const refuseBad = async (states: readonly TaskState[], prefix = 'bad'): Promise<void> => {
    refusing = await refuse(fixture.subject, prefix, states)
  }
  /** What went wrong, and with which tasks. */
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
      // It was the completing that failed, and it is told of that task.
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
      node.process(fixture.topic, { handler: eachTask(({ identifier }) => void handled.push(identifier)) })
      await node.start()
      await expect.poll(states).toEqual({ succeeded: 6, ready: 1 })
      // Something was done: it is polled once more, and now nothing is.
      await expect.poll(() => handled).toHaveLength(8)
      await expect.poll(states).toEqual({ succeeded: 6, ready: 1 })
      node.wake()
      await fixture.push('g')
      node.wake()
      await new Promise((resolve) => setImmediate(resolve))
      expect(handled).toHaveLength(8)
      clock.advance(1_000)
      await expect.poll(states).toEqual({ succeeded: 7, ready: 1 })
      await allow()
      await expect.poll(() => (clock.advance(10_000), states())).toEqual({ succeeded: 8 })
      // No try was counted but the last.
      expect((await fixture.page()).map(({ tries }) => tries)).toEqual([1, 1, 1, 1, 1, 1, 1, 1])
    })

    test('is rolled back in transactional mode, again and again, with a pause', async () => {
      await fixture.push('a', 'bad')
      await refuseBad(results)
      const handled: string[] = []
      const { clock, node } = fixture.clocked(patient)
      await using _ = node
      node.process(fixture.topic, {
        mode: 'transactional',
        size: 1,
        concurrency: 1,
        handler: eachTask(({ identifier }) => void handled.push(identifier)),
      })
      await node.start()
      await expect.poll(() => handled.slice(0, 2)).toEqual(['a', 'bad'])
      await allow()
      await expect.poll(() => (clock.advance(10_000), states())).toEqual({ succeeded: 2 })
    })
  })

  describe('in any way', () => {
    test('stays held, and is reported as abandoned; its neighbours are completed', async () => {
      await pushAround()
      await refuseBad(everything)
      const listener = hearing()
      const node = fixture.nodeOf({ listener })
      node.process(fixture.topic, { concurrency: 1, handler: succeedAll })
      await node.start()
      await expect.poll(states).toEqual({ succeeded: 6, active: 1 })
      await expect.poll(() => listener.told.length).toBeGreaterThan(0)
      const report = await node.stop()
      expect(names(report.abandoned)).toEqual(['bad'])
      expect(listener.told[0]).toEqual(['complete', ['bad'], expect.stringContaining(refusal)])
      // The owner has left: others take it.
      await allow()
      await using other = fixture.nodeOf({ repository: fixture.subject.tasks() })
      other.process(fixture.topic, { handler: succeedAll })
      await other.start()
      await expect.poll(states).toEqual({ succeeded: 7 })
    })

    test('is handed back as soon as that can be written, and meanwhile the topic goes on', async () => {
      await pushAround()
      await refuseBad(everything)
      const handled: string[] = []
      await using node = fixture.nodeOf()
      node.process(fixture.topic, { idleMs: 20, handler: eachTask(({ identifier }) => void handled.push(identifier)) })
      await node.start()
      await expect.poll(states).toEqual({ succeeded: 6, active: 1 })
      await fixture.push('g')
      await expect.poll(states).toEqual({ succeeded: 7, active: 1 })
      await allow()
      await expect.poll(states).toEqual({ succeeded: 8 })
      expect(handled.filter((identifier) => identifier === 'bad')).toHaveLength(2)
    })

    test('is handed back by a stop that can, and reported so', async () => {
      await pushAround()
      await refuseBad(everything)
      const listener = hearing()
      const { node } = fixture.clocked({ ...patient, listener })
      node.process(fixture.topic, { concurrency: 1, handler: succeedAll })
      await node.start()
      await expect.poll(states).toEqual({ succeeded: 6, active: 1 })
      await expect.poll(() => listener.told.length).toBeGreaterThan(0)
      await allow()
      const report = await node.stop()
      expect([names(report.returned), report.abandoned]).toEqual([['bad'], []])
      expect(await states()).toEqual({ succeeded: 6, ready: 1 })
    })

    test.each(['is stopped', 'has ended by itself'])('is handed back by the node when its topic %s', async (how) => {
      await pushAround()
      await refuseBad(everything)
      const broken = Promise.withResolvers<void>()
      let limited = false
      await using node = fixture.nodeOf({
        limiter: {
          acquire: (topic, signal) => {
            if (limited) throw new Error('nobody knows how many may run')
            return unlimited.acquire(topic, signal)
          },
        },
        listener: { onFatal: () => broken.resolve() },
      })
      const manager = node.process(fixture.topic, { concurrency: 1, idleMs: 20, handler: succeedAll })
      await node.start()
      await expect.poll(states).toEqual({ succeeded: 6, active: 1 })
      if (how === 'is stopped') expect(names((await manager.stop()).abandoned)).toEqual(['bad'])
      else {
        limited = true
        await broken.promise
        await manager.stop()
      }
      await allow()
      await expect.poll(states).toEqual({ succeeded: 6, ready: 1 })
      limited = false
      await manager.start()
      await expect.poll(states).toEqual({ succeeded: 7 })
    })

    test('costs no more statements than a few, where it is every task', async () => {
      await fixture.push(...Array.from({ length: 300 }, (_, index) => `bad ${index}`))
      await refuseBad(everything)
      let statements = 0
      const tasks = Object.create(fixture.tasks) as Tasks
      for (const verb of ['complete', 'handBack'] as const) {
        const { [verb]: own } = fixture.tasks
        tasks[verb] = ((...args: Parameters<typeof own>) => (
          statements++,
          (own as (...given: unknown[]) => unknown)(...args)
        )) as never
      }
      const { clock, node } = fixture.clocked({ ...patient, repository: tasks })
      await using _ = node
      node.process(fixture.topic, { size: 300, concurrency: 1, handler: succeedAll })
      await fixture.subject.transactions((transaction) => tasks.register(transaction))
      await node.start()
      const told = Promise.withResolvers<void>()
      void told
      await expect.poll(() => statements).toBeGreaterThan(5)
      await expect.poll(states).toEqual({ active: 300 })
      await allow()
      await expect.poll(() => (clock.advance(10_000), states())).toEqual({ succeeded: 300 })
      expect(statements).toBeLessThan(100)
    })
  })

  test('that a poll has brought whose commit nobody answered is handed back by the node when its topic is stopped', async () => {
    await fixture.push('a', 'b')
    let stopped: Promise<unknown> | undefined
    const { subject } = fixture
    await using node = fixture.nodeOf({
      transactions: async (work) => {
        const result = await subject.transactions(work)
        if (Array.isArray(result) && result.length === 2 && !stopped) {
          // Committed, and the answer is lost.
          stopped = manager.stop()
          throw new TaskError('DATABASE_UNAVAILABLE', 'gone')
        }
        return result
      },
    })
    const manager = node.process(fixture.topic, { handler: succeedAll })
    await node.start()
    await expect.poll(() => stopped).toBeDefined()
    await stopped
    await expect.poll(states).toEqual({ ready: 2 })
    await manager.start()
    await expect.poll(states).toEqual({ succeeded: 2 })
  })
})

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
