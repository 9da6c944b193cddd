/** A manager takes batches, gives them to a handler and completes them. */
import { TaskDecision, TaskDecisionError } from '@taskstream/task-api'
import type { HeldTask, TransactionSource } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

describe.skipIf(!canRun)('a manager', () => {
  const fixture = useNodeFixture('manager')

  test('is started and stopped any number of times while its node runs', async () => {
    await using node = fixture.nodeOf()
    const handled: string[] = []
    const manager = node.process(fixture.topic, {
      idleMs: 20,
      handler: eachTask(({ identifier }) => void handled.push(identifier)),
    })
    expect(manager.isActive).toBe(false)
    expect(await manager.stop()).toEqual({ finished: [], returned: [], abandoned: [] })
    manager.wake()
    await expect(manager.start()).rejects.toMatchObject({ code: 'LIFECYCLE' })
    await node.start()
    expect([manager.isActive, await manager.start()]).toEqual([true, false])
    await fixture.push('a')
    await expect.poll(fixture.states).toEqual({ succeeded: 1 })
    const [first, second] = await Promise.all([manager.stop(), manager.stop()])
    expect(first).toBe(second)
    expect(manager.isActive).toBe(false)
    await fixture.push('b')
    manager.wake()
    const restarted = manager.start()
    expect(await restarted).toBe(true)
    await expect.poll(fixture.states).toEqual({ succeeded: 2 })
    expect(handled).toEqual(['a', 'b'])
    await node.stop()
    expect(manager.isActive).toBe(false)
    await expect(manager.start()).rejects.toMatchObject({ code: 'LIFECYCLE' })
  })

  test('starts once it has stopped, when it is asked to meanwhile', async () => {
    await fixture.push('a')
    const began = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    await using node = fixture.nodeOf()
    const manager = node.process(fixture.topic, {
      idleMs: 20,
      handler: async () => {
        began.resolve()
        await gate.promise
        throw new TaskDecisionError(TaskDecision.filter())
      },
    })
    await node.start()
    await began.promise
    const stopped = manager.stop()
    const started = manager.start()
    gate.resolve()
    expect((await stopped).finished).toHaveLength(1)
    expect([await started, manager.isActive]).toEqual([true, true])
  })

  test('refuses options that make no sense, and says which', async () => {
    await using node = fixture.nodeOf()
    const handler = eachTask(() => {})
    const wrong: readonly [string, object][] = [
      ['handler', { handler: undefined }],
      ['handler', { handler: {} }],
      ['mode', { mode: 'both' }],
      ['retry', { retry: { tries: 3 } }],
      ['size', { size: 0 }],
      ['concurrency', { concurrency: 0 }],
      ['share', { share: 1_001 }],
      ['timeoutMs', { timeoutMs: 0 }],
      ['timeoutMs', { mode: 'transactional', timeoutMs: 60_000 }],
      ['abortMs', { abortMs: -1 }],
      ['idleMs', { idleMs: 0.5 }],
    ]
    for (const [argument, options] of wrong)
      expect(() => node.process('x', { handler, ...options } as never), JSON.stringify(options)).toThrow(
        expect.objectContaining({ code: 'ARGUMENT_INVALID', data: expect.objectContaining({ argument }) }),
      )
    const manager = node.process(fixture.topic, { handler })
    expect(() => manager.stop({ graceMs: -1 })).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
  })

  test('is stopped by a limiter that throws, finishes what it holds, and says so once', async () => {
    await fixture.push('a')
    let asked = 0
    const fatal: unknown[] = []
    const limiter = {
      acquire: async () => {
        if (asked++ > 0) throw new Error('no more')
        return () => {}
      },
    }
    await using node = fixture.nodeOf({ limiter, listener: { onFatal: ({ error }) => fatal.push(error) } })
    const manager = node.process(fixture.topic, { handler: eachTask(() => {}) })
    await node.start()
    await expect.poll(() => manager.isActive).toBe(false)
    await expect.poll(fixture.states).toEqual({ succeeded: 1 })
    expect(fatal).toEqual([new Error('no more')])
    // The topic may be started again by hand.
    await expect.poll(() => manager.start()).toBe(true)
  })

  test('holds a token of its limiter from poll to completion, and none while it sleeps', async () => {
    await fixture.push('a', 'b', 'c')
    let out = 0
    let most = 0
    const limiter = {
      acquire: async (_topic: string, signal: AbortSignal) => {
        const full = (): boolean => out >= 1 && !signal.aborted
        while (full()) await new Promise((resolve) => setImmediate(resolve))
        signal.throwIfAborted()
        most = Math.max(most, ++out)
        return () => void out--
      },
    }
    const own = fixture.tasks
    const outAt = { polls: [] as number[], completions: [] as number[] }
    const repository = {
      ...own,
      poll: (...args: Parameters<Tasks['poll']>) => (outAt.polls.push(out), own.poll(...args)),
      complete: (...args: Parameters<Tasks['complete']>) => (outAt.completions.push(out), own.complete(...args)),
    } as Tasks
    let running = 0
    await using node = fixture.nodeOf({ limiter, repository })
    node.process(fixture.topic, {
      size: 1,
      concurrency: 3,
      idleMs: 20,
      handler: eachTask(async () => {
        expect(++running).toBe(1)
        await new Promise((resolve) => setImmediate(resolve))
        running--
      }),
    })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: 3 })
    await expect.poll(() => out).toBe(0)
    expect(most).toBe(1)
    for (const counts of Object.values(outAt)) {
      expect(counts.length).toBeGreaterThanOrEqual(3)
      expect(new Set(counts)).toEqual(new Set([1]))
    }
  })

  test('fails a batch once for whatever is wrong with it, and says why', async () => {
    const wrong: Readonly<Record<string, (batch: readonly HeldTask[]) => unknown>> = {
      'an object': () => ({}),
      'not a decision': (batch) => new Map([[batch[0], 'fine']]),
      foreign: (batch) => new Map([[{ ...batch[0]! }, TaskDecision.success()]]),
      thrown: () => {
        throw new Error('at once')
      },
      rejected: async () => Promise.reject(new Error('later')),
    }
    const completions: number[] = []
    await using node = fixture.nodeOf({
      listener: { onComplete: ({ completion }) => completions.push(completion.completed.length) },
    })
    node.process(fixture.topic, {
      size: 1,
      idleMs: 20,
      handler: ((batch: readonly HeldTask[]) => wrong[batch[0]!.identifier]!(batch)) as never,
    })
    await node.start()
    await fixture.push(...Object.keys(wrong))
    await expect.poll(fixture.states).toEqual({ failed: 5 })
    const outputs = (await fixture.page()).map(({ identifier, output }) => `${identifier}: ${output}`)
    for (const text of [
      /^an object: .*must return a Map/,
      /^not a decision: .*must be a TaskDecision/,
      /^foreign: .*not of the batch/,
      /^thrown: .*at once/,
      /^rejected: .*later/,
    ])
      expect(outputs).toContainEqual(expect.stringMatching(text))
    await expect.poll(() => completions).toEqual([1, 1, 1, 1, 1])
  })

  test('lets a batch be completed once, from any context, and waits for a completion that its handler did not wait for', async () => {
    await fixture.push('a')
    const second = Promise.withResolvers<unknown>()
    const errors: unknown[] = []
    await using node = fixture.nodeOf({ listener: { onError: ({ error }) => errors.push(error) } })
    node.process(fixture.topic, {
      handler: (batch, { complete }) => {
        const { promise, resolve } = Promise.withResolvers<void>()
        setImmediate(() => {
          const decide = (): ReadonlyMap<HeldTask, TaskDecision> => new Map(batch.map((task) => [task, TaskDecision.filter()]))
          void complete(decide)
          complete(decide).catch(second.resolve)
          resolve()
        })
        return promise
      },
    })
    await node.start()
    expect(await second.promise).toMatchObject({ code: 'LIFECYCLE' })
    await expect.poll(fixture.states).toEqual({ filtered: 1 })
    expect(errors).toEqual([])
  })

  test('goes by the decisions of a handler whose own completion failed, if it returns any', async () => {
    await fixture.push('a')
    await using node = fixture.nodeOf()
    node.process(fixture.topic, {
      handler: async (batch, { complete }) => {
        await complete(() => {
          throw new Error('cannot be written')
        }).catch(() => {})
        return new Map(batch.map((task) => [task, TaskDecision.suspension('written elsewhere')]))
      },
    })
    await node.start()
    await expect.poll(fixture.states).toEqual({ suspended: 1 })
  })

  test('fails the task alone when its retry policy throws, and keeps both errors', async () => {
    await fixture.push('a')
    await using node = fixture.nodeOf()
    node.process(fixture.topic, {
      handler: eachTask(() => Promise.reject(new Error('the reason'))),
      retry: () => {
        throw new Error('the policy')
      },
    })
    await node.start()
    await expect.poll(fixture.states).toEqual({ failed: 1 })
    expect((await fixture.page())[0]?.output).toMatch(/the reason[\s\S]*the policy/)
  })

  test('refuses to start on a pool that is too small, with the number that it needs', async () => {
    const source = (connections: number): TransactionSource<AnyTransaction> =>
      Object.assign(<R>(work: (transaction: AnyTransaction) => R | Promise<R>) => fixture.commit(work), {
        connections,
      })
    const handler = eachTask(() => {})
    const node = fixture.nodeOf({ transactions: source(4) })
    node.process(fixture.topic, { handler, mode: 'transactional', concurrency: 3 })
    await expect(node.start()).rejects.toMatchObject({ code: 'POOL_TOO_SMALL', data: { found: 4, needed: 5 } })
    await using large = fixture.nodeOf({ transactions: source(5) })
    large.process(fixture.topic, { handler, mode: 'transactional', concurrency: 3 })
    await large.start()
    expect(() => large.process(`${fixture.topic}-more`, { handler, mode: 'transactional', concurrency: 1 })).toThrow(
      expect.objectContaining({ code: 'POOL_TOO_SMALL', data: { found: 5, needed: 6 } }),
    )
    await expect(fixture.nodeOf({ transactions: source(1) }).start()).rejects.toMatchObject({ code: 'POOL_TOO_SMALL' })
  })

  test('opens its handler for each run, closes it when it stops, and holds as many batches as that takes', async () => {
    const log: string[] = []
    const gate = Promise.withResolvers<void>()
    let most = 0
    let running = 0
    const handler = {
      open: (topic: string) => {
        log.push(`open ${topic}`)
        return {
          capacity: 3,
          handle: async (batch: readonly HeldTask[]) => {
            most = Math.max(most, ++running)
            await gate.promise
            running--
            return new Map(batch.map((task) => [task, TaskDecision.success()]))
          },
          close: () => {
            log.push('close')
            throw new Error('close')
          },
        }
      },
    }
    const errors: unknown[] = []
    const { clock, node } = fixture.clocked({ listener: { onError: ({ error }) => errors.push(error) } })
    await using _ = node
    using __ = { [Symbol.dispose]: gate.resolve }
    const manager = node.process(fixture.topic, { handler, size: 1 })
    await fixture.push(...Array.from({ length: 30 }, (___, index) => String(index)))
    await node.start()
    await expect.poll(() => running).toBe(3)
    // The loop sleeps for a second, on a clock that stands still, when there is no room for another batch.
    await expect.poll(() => clock.pauses).toContain(1_000)
    gate.resolve()
    await expect.poll(fixture.states).toEqual({ succeeded: 30 })
    await manager.stop()
    await manager.start()
    await node.stop()
    expect(log).toEqual([`open ${fixture.topic}`, 'close', `open ${fixture.topic}`, 'close'])
    expect(errors).toEqual([new Error('close'), new Error('close')])
    expect(most).toBe(3)
  })

  test('does not start a node whose handler cannot be opened', async () => {
    const handler = {
      open: () => {
        throw new Error('cannot be opened')
      },
    }
    const node = fixture.nodeOf()
    node.process(fixture.topic, { handler })
    await expect(node.start()).rejects.toThrow('cannot be opened')
    // The start may be repeated, and fails again.
    await expect(node.start()).rejects.toThrow('cannot be opened')
    const fatal = Promise.withResolvers<unknown>()
    await using other = fixture.nodeOf({
      repository: fixture.subject.tasks(),
      listener: { onFatal: ({ error }) => fatal.resolve(error) },
    })
    await other.start()
    other.process(fixture.topic, { handler })
    expect(await fatal.promise).toEqual(new Error('cannot be opened'))
  })
})
