/** A node handles every task once and in order, and stops in the way that the caller asks for. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { Completion, HeldTask } from '@taskstream/task-api'
import { eachTask, exponential, fixed, localNotifier, TaskNode } from '@taskstream/task-processor'
import type { TaskListener } from '@taskstream/task-processor'
import { sql } from '@taskstream/task-sql'
import { beforeAll, describe, expect, test } from 'vitest'
import { canRun, textColumn } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'
import { soundSleeper } from './sound-sleeper.ts'

describe.skipIf(!canRun)('a node', () => {
  const fixture = useNodeFixture('node')
  beforeAll(async () => {
    const { subject } = fixture
    await subject.transactions((transaction) => subject.execute(transaction, sql`create table effect (identifier ${textColumn})`))
  })
  const push = (...identifiers: string[]): Promise<unknown> => fixture.push(...identifiers)
  const states = (): Promise<Record<string, number>> => fixture.states()
  const nodeOf = (listener: TaskListener = {}): TaskNode<AnyTransaction> => fixture.nodeOf({ listener })

  test('handles every task once, in order, and completes it', async () => {
    const identifiers = Array.from({ length: 250 }, (_, index) => String(index))
    await push(...identifiers)
    const handled: string[] = []
    await using node = nodeOf()
    node.process(fixture.topic, { size: 20, handler: eachTask(({ identifier }) => void handled.push(identifier)) })
    await node.start()
    await expect.poll(states).toEqual({ succeeded: 250 })
    expect(handled).toEqual(identifiers)
  })

  test('is woken by a notifier, and finds what is pushed while it sleeps', async () => {
    const notifier = localNotifier()
    const handled: string[] = []
    const { node, isAsleep } = soundSleeper({
      repository: fixture.tasks,
      transactions: fixture.subject.transactions,
      notifier,
    })
    await using _ = node
    node.process(fixture.topic, { handler: eachTask(({ identifier }) => void handled.push(identifier)) })
    await node.start()
    await expect.poll(isAsleep).toBe(true)
    await push('a')
    notifier.notify(fixture.topic)
    await expect.poll(() => handled).toEqual(['a'])
  })

  test('fails a task whose handler throws, and no other', async () => {
    await push('a', 'b', 'c')
    await using node = nodeOf()
    node.process(fixture.topic, {
      handler: eachTask(({ identifier }) => {
        if (identifier === 'b') throw new Error('broken')
        return TaskDecision.filter()
      }),
    })
    await node.start()
    await expect.poll(states).toEqual({ failed: 1, filtered: 2 })
  })

  test('retries by its policy until the tries are used up', async () => {
    await push('a')
    const attempts: number[] = []
    await using node = nodeOf()
    node.process(fixture.topic, {
      retry: exponential({ tries: 3, firstMs: 1 }),
      handler: eachTask(({ attempt }) => {
        attempts.push(attempt)
        throw new Error('again')
      }),
    })
    await node.start()
    await expect.poll(states).toEqual({ failed: 1 })
    expect(attempts).toEqual([1, 2, 3])
  })

  test('brings the tasks of a batch back together that failed by one throw, and each by itself that failed alone', async () => {
    const dues = async (): Promise<Set<number | undefined>> => {
      await expect.poll(states).toEqual({ delayed: 20 })
      return new Set((await fixture.page()).map(({ due }) => due?.getTime()))
    }
    const fail = (): never => {
      throw new Error('the service is away')
    }
    const retry = fixed({ tries: 3, afterMs: 1_000_000_000 })
    for (const [handler, count] of [[fail, 1] as const, [eachTask(fail), 20] as const]) {
      await fixture.next()
      await push(...Array.from({ length: 20 }, (_, index) => `t${index}`))
      await using node = nodeOf()
      node.process(fixture.topic, { size: 20, retry, handler })
      await node.start()
      expect((await dues()).size).toBe(count)
    }
  })

  test("commits a handler's own writes with the completion, or neither", async () => {
    await push('good', 'bad')
    const completions: Completion[] = []
    await using node = nodeOf({ onComplete: ({ completion }) => completions.push(completion) })
    node.process(fixture.topic, {
      size: 1,
      concurrency: 1,
      handler: async (_, { complete }) => {
        await complete(async (transaction, held) => {
          for (const { identifier } of held)
            await fixture.subject.execute(transaction, sql`insert into effect (identifier) values (${identifier})`)
          if (held[0]?.identifier === 'bad') throw new Error('after the write')
          return new Map(held.map((task) => [task, TaskDecision.success()]))
        })
      },
    })
    await node.start()
    await expect.poll(states).toEqual({ succeeded: 1, failed: 1 })
    const effects = await fixture.commit((transaction) =>
      fixture.subject.execute(transaction, sql`select identifier from effect`),
    )
    expect(effects).toEqual([{ identifier: 'good' }])
  })

  test('completes what a handler writes when the database comes back, once, and fails nothing for its absence', async () => {
    await push('away')
    let decided = 0
    let decidedIn: AnyTransaction
    const told: string[] = []
    await using node = fixture.nodeOf({
      listener: {
        onError: ({ activity }) => void told.push(`error ${activity}`),
        onRecovered: ({ activity }) => void told.push(`recovered ${activity}`),
      },
      heartbeatIntervalMs: 1_000,
      maintenanceIntervalMs: 10_000,
      // The server goes away twice, each time after the statements.
      transactions: (work) =>
        fixture.commit(async (transaction) => {
          // On a single connection all transactions look alike.
          const before = decided
          const result = await work(transaction)
          if (decidedIn === transaction && decided > before && decided < 3) throw new TaskError('DATABASE_UNAVAILABLE', 'gone')
          return result
        }),
    })
    node.process(fixture.topic, {
      concurrency: 1,
      handler: async (_, { complete }) => {
        await complete(async (transaction, held) => {
          decided++
          decidedIn = transaction
          for (const { identifier } of held)
            await fixture.subject.execute(transaction, sql`insert into effect (identifier) values (${identifier})`)
          return new Map(held.map((task) => [task, TaskDecision.success()]))
        })
      },
    })
    await node.start()
    await expect.poll(states).toEqual({ succeeded: 1 })
    expect([decided, told]).toEqual([3, ['error complete', 'recovered complete']])
    const count = sql`select identifier from effect where identifier = 'away'`
    expect(await fixture.commit((transaction) => fixture.subject.execute(transaction, count))).toHaveLength(1)
  })

  test('fails what has no decision, and the whole batch for a decision of a stranger', async () => {
    await push('a', 'b')
    await using node = nodeOf()
    node.process(fixture.topic, { size: 2, handler: ([first]) => new Map([[first!, TaskDecision.success()]]) })
    await node.start()
    await expect.poll(states).toEqual({ succeeded: 1, failed: 1 })
    await node.stop()

    await fixture.next()
    await using other = nodeOf()
    other.process(fixture.topic, { handler: (batch) => new Map([[{ ...batch[0]! }, TaskDecision.success()]]) })
    await other.start()
    await push('c')
    await expect.poll(states).toEqual({ failed: 1 })
    const [info] = await fixture.page()
    expect(info?.output).toContain('not of the batch')
  })

  test('takes up the tasks of an owner that left', async () => {
    await push('a', 'b')
    const dead = fixture.subject.tasks()
    await fixture.commit(async (transaction) => {
      await dead.register(transaction)
      await dead.poll(transaction, fixture.topic, { size: 2 })
      await dead.unregister(transaction)
    })
    await using node = nodeOf()
    node.process(fixture.topic, { handler: eachTask(({ attempt }) => TaskDecision.success(String(attempt))) })
    await node.start()
    await expect.poll(states).toEqual({ succeeded: 2 })
  })

  test('asks handlers to let go when it is stopped, and hands back what they leave', async () => {
    await push('a', 'b', 'c')
    const began = Promise.withResolvers<void>()
    let reason: unknown
    const node = nodeOf()
    node.process(fixture.topic, {
      size: 3,
      handler: async (_, { signal }) => {
        began.resolve()
        const aborted = Promise.withResolvers<never>()
        signal.addEventListener('abort', () => aborted.reject((reason = signal.reason) as Error))
        await aborted.promise
      },
    })
    await node.start()
    await began.promise
    const { finished, returned, abandoned } = await node.stop({ graceMs: 1 })
    expect(reason).toBeInstanceOf(TaskError)
    expect(reason).toMatchObject({ code: 'SHUTDOWN' })
    expect([finished, returned.map(({ identifier }) => identifier), abandoned]).toEqual([[], ['a', 'b', 'c'], []])
    expect(await states()).toEqual({ ready: 3 })
    const owners = await fixture.commit((transaction) => fixture.subject.tasks().owners(transaction, 1_000_000))
    expect(owners).not.toContainEqual(expect.objectContaining({ owner: node.owner }))
  })

  test('hands back what a handler keeps that ignores being asked, and refuses its late decision', async () => {
    await push('a')
    const began = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    const lost = Promise.withResolvers<readonly HeldTask[]>()
    const node = nodeOf({ onLost: ({ tasks: gone }) => lost.resolve(gone) })
    node.process(fixture.topic, {
      handler: eachTask(async () => {
        began.resolve()
        await goOn.promise
        return TaskDecision.success('too late')
      }),
    })
    await node.start()
    await began.promise
    const { returned } = await node.stop({ graceMs: 1, abortMs: 50 })
    expect(returned.map(({ identifier }) => identifier)).toEqual(['a'])
    goOn.resolve()
    expect((await lost.promise).map(({ identifier }) => identifier)).toEqual(['a'])
    expect(await states()).toEqual({ ready: 1 })
  })

  test('lets what is held finish within its grace', async () => {
    await push('a')
    const began = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    const node = nodeOf()
    node.process(fixture.topic, {
      handler: eachTask(async () => {
        began.resolve()
        await goOn.promise
      }),
    })
    await node.start()
    await began.promise
    const stopping = node.stop()
    goOn.resolve()
    expect((await stopping).finished.map(({ identifier }) => identifier)).toEqual(['a'])
    expect(await states()).toEqual({ succeeded: 1 })
  })

  test('refuses to be started twice, to process a topic twice, and a lease too short for its beat', async () => {
    await using node = nodeOf()
    node.process(fixture.topic, { handler: eachTask(() => {}) })
    expect(() => node.process(fixture.topic, { handler: eachTask(() => {}) })).toThrow(
      expect.objectContaining({ code: 'LIFECYCLE' }),
    )
    await node.start()
    await expect(node.start()).rejects.toMatchObject({ code: 'LIFECYCLE' })
    const options = {
      repository: fixture.tasks,
      transactions: fixture.subject.transactions,
      heartbeatIntervalMs: 100,
      leaseMs: 200,
    }
    expect(() => new TaskNode(options)).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
  })

  test('survives a listener that throws', async () => {
    await push('a')
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
    await using node = nodeOf({
      onStart: () => {
        throw new Error('listener')
      },
    })
    node.process(fixture.topic, { handler: eachTask(() => {}) })
    await node.start()
    await expect.poll(states).toEqual({ succeeded: 1 })
    expect((await warned).message).toContain('onStart threw')
  })
})
