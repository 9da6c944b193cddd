/** A handler of single tasks decides each for itself. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TaskError } from '@taskstream/task-api'
import { byError, eachTask, fixed, never } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe.skipIf(!canRun)('a handler of single tasks', () => {
  const fixture = useNodeFixture('each')

  test('handles so many at a time, and each alone decides of its task', async () => {
    const identifiers = Array.from({ length: 40 }, (_, index) => String(index))
    await fixture.push(...identifiers)
    let running = 0
    let most = 0
    await using node = fixture.nodeOf()
    node.process(fixture.topic, {
      concurrency: 1,
      handler: eachTask(
        async ({ identifier }) => {
          most = Math.max(most, ++running)
          for (let turns = Number(identifier) % 5; turns >= 0; turns--) await turn()
          running--
          if (Number(identifier) % 10 === 3) throw new Error('three')
          return Number(identifier) % 10 === 4 ? TaskDecision.filter() : undefined
        },
        { concurrency: 7 },
      ),
    })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: 32, failed: 4, filtered: 4 })
    expect(most).toBe(7)
  })

  test('waits for whatever can be waited for, and not only for promises', async () => {
    await fixture.push('a')
    await using node = fixture.nodeOf()
    // Like a query builder, this does nothing before somebody awaits it.
    let begun = 0
    const lazy = { then: (resolve: (decision: TaskDecision) => void) => (begun++, resolve(TaskDecision.filter())) }
    node.process(fixture.topic, { handler: eachTask(() => lazy as Promise<TaskDecision>) })
    await node.start()
    await expect.poll(fixture.states).toEqual({ filtered: 1 })
    await node.stop()
    await fixture.push('b')
    await using limited = fixture.nodeOf()
    limited.process(fixture.topic, { handler: eachTask(() => lazy as Promise<TaskDecision>, { timeoutMs: 60_000 }) })
    const before = begun
    await limited.start()
    await expect.poll(fixture.states).toEqual({ filtered: 2 })
    expect(begun - before).toBe(1)
  })

  test('asks a task that takes too long to let go, fails it alone, and reports one that does not', async () => {
    await fixture.push('ok', 'slow', 'late', 'stuck', 'after')
    const gate = Promise.withResolvers<void>()
    const begun: string[] = []
    const stuck: unknown[] = []
    const { clock, node } = fixture.clocked({
      listener: { onStuck: ({ at, heldMs }) => void stuck.push([at?.identifier, heldMs]) },
    })
    await using _ = node
    node.process(fixture.topic, {
      handler: eachTask(
        async ({ identifier }, { signal }) => {
          begun.push(identifier)
          if (identifier === 'stuck') await gate.promise
          if (identifier === 'slow' || identifier === 'late') {
            await new Promise<void>((resolve, reject) => {
              // On abort, one handler throws, and the other one still returns.
              signal.addEventListener('abort', () => (identifier === 'late' ? resolve() : reject(new Error('broken off'))))
            })
          }
        },
        { timeoutMs: 1_000, abortMs: 500 },
      ),
    })
    await node.start()
    for (const [index, ms] of [
      [2, 1_000],
      [3, 1_000],
      [4, 1_500],
    ] as const) {
      await expect.poll(() => begun.length).toBe(index)
      clock.advance(ms)
    }
    await expect.poll(fixture.states).toEqual({ succeeded: 3, failed: 2 })
    const outputs = Object.fromEntries((await fixture.page()).map(({ identifier, output }) => [identifier, output]))
    expect(outputs).toMatchObject({
      slow: expect.stringContaining('longer than 1000 ms'),
      stuck: expect.stringContaining('longer than'),
    })
    expect(outputs).toMatchObject({ ok: undefined, late: undefined, after: undefined })
    expect(stuck).toEqual([['stuck', 1_500]])
    gate.resolve()
  })

  test('leaves no more tasks behind than it has at work at a time, and gives the others back with their tries', async () => {
    await fixture.push(...Array.from({ length: 30 }, (_, index) => String(index)))
    const gate = Promise.withResolvers<void>()
    let alive = 0
    let most = 0
    const { clock, node } = fixture.clocked({})
    await using _ = node
    node.process(fixture.topic, {
      concurrency: 1,
      handler: eachTask(
        async () => {
          most = Math.max(most, ++alive)
          await gate.promise
          alive--
        },
        { concurrency: 3, timeoutMs: 1_000, abortMs: 500 },
      ),
    })
    await node.start()
    await expect.poll(() => alive).toBe(3)
    clock.advance(1_500)
    await expect.poll(fixture.states).toEqual({ failed: 3, delayed: 27 })
    await expect.poll(() => node.troubles).toEqual([`poll ${fixture.topic}`])
    expect((await fixture.page()).map(({ tries }) => tries).filter((tries) => tries > 0)).toHaveLength(3)
    gate.resolve()
    await expect.poll(fixture.states).toEqual({ failed: 3, succeeded: 27 })
    expect(most).toBe(3)
  })

  test('is retried by the class of its error, in the order of its identifier, and fails when its tries are used up', async () => {
    class Busy extends Error {}
    await fixture.next({ condition: 'singular-by-identifier' })
    await fixture.push(...['a', 'b', 'a', 'b', 'a'].map((identifier, index) => ({ identifier, input: String(index) })))
    const seen: string[] = []
    await using node = fixture.nodeOf()
    node.process(fixture.topic, {
      idleMs: 20,
      retry: byError([
        [Busy, fixed({ tries: 3, afterMs: 1 })],
        [TypeError, never],
      ]),
      handler: eachTask(({ identifier, input, tries }) => {
        seen.push(`${identifier}${input} ${tries}`)
        if (input === '0' && tries < 3) throw new Error('wrapped', { cause: new Busy() })
        if (input === '1') throw new TypeError('never again')
        if (input === '2') throw new Busy()
      }),
    })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: 3, failed: 2 })
    expect(seen.filter((one) => one.startsWith('a'))).toEqual(['a0 1', 'a0 2', 'a0 3', 'a2 1', 'a2 2', 'a2 3', 'a4 1'])
    expect(seen.filter((one) => one.startsWith('b'))).toEqual(['b1 1', 'b3 1'])
    // The reason differs between a task without tries left and a task that should not be tried again.
    const failed = (await fixture.page()).filter(({ state }) => state === 'failed')
    expect(failed.map(({ input, reason }) => [input, reason])).toEqual([
      ['1', undefined],
      ['2', 'tries'],
    ])
  })

  test('refuses numbers that make no sense', () => {
    for (const options of [{ concurrency: 0 }, { concurrency: 1_001 }, { timeoutMs: 0 }, { abortMs: -1 }]) {
      let code: unknown
      try {
        eachTask(() => {}, options)
      } catch (error) {
        code = (error as TaskError).code
      }
      expect(code).toBe('ARGUMENT_INVALID')
    }
  })
})

describe.skipIf(!canRun)('a topic', () => {
  const fixture = useNodeFixture('batches')

  test('that is started again begins no more handlers beside those that the last stop has left behind', async () => {
    await fixture.push(...Array.from({ length: 10 }, (_, index) => String(index)))
    const gate = Promise.withResolvers<void>()
    let alive = 0
    let most = 0
    await using node = fixture.nodeOf()
    const manager = node.process(fixture.topic, {
      size: 1,
      concurrency: 2,
      handler: eachTask(async () => {
        most = Math.max(most, ++alive)
        await gate.promise
        alive--
      }),
    })
    await node.start()
    await expect.poll(() => alive).toBe(2)
    await manager.stop({ graceMs: 0, abortMs: 0 })
    await manager.start()
    await expect.poll(() => node.troubles).toEqual([`poll ${fixture.topic}`])
    gate.resolve()
    await expect.poll(fixture.states).toEqual({ succeeded: 10 })
    expect(most).toBe(2)
  })

  test.each(['leased', 'transactional'] as const)(
    'has handlers that may take its tasks out of their list, in %s mode',
    async (mode) => {
      await fixture.push('a', 'b', 'c', 'd')
      await using node = fixture.nodeOf()
      node.process(fixture.topic, {
        mode,
        handler: (batch) => {
          const left = batch as HeldTask[]
          const decisions = new Map<HeldTask, TaskDecision>()
          for (let task = left.shift(); task; task = left.shift()) decisions.set(task, TaskDecision.success())
          return decisions
        },
      })
      await node.start()
      await expect.poll(fixture.states).toEqual({ succeeded: 4 })
    },
  )
})
