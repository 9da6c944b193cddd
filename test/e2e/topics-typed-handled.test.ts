/** Typed topics are handled in batches: what a handler completes takes effect with its tasks, and what it throws is a try of each. */
import type { TaskInfo } from '@taskstream/task-api'
import { codeOf } from '@taskstream/task-testing/suite'
import { defineJob, defineTopic, fixed, json, TaskDecision } from 'taskstream'
import type { TopicContext, TopicTask } from 'taskstream'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

const twice = fixed({ tries: 2, afterMs: 0, jitter: 0 })

describe.skipIf(!canRun)('a typed topic', () => {
  const fixture = useJobFixture()

  test('is polled at once after a commit of its own process, and so is what its work pushes to', async () => {
    const topic = defineTopic('typed-woken', { input: json<number>(), key: String })
    const next = defineTopic('typed-woken-next', { input: json<number>() })
    await using stream = fixture.streamOf()
    const inputs: number[] = []
    stream.topic(topic).process({
      handler: (_, { complete }) =>
        complete(async (transaction, held) => {
          const all = held.map(({ input }) => input)
          inputs.push(...all)
          await stream.topic(next).push(transaction, all)
        }),
    })
    stream.topic(next).process({ handler: () => {} })
    await stream.start()
    const woken = vi.spyOn(stream.node, 'wake')
    await stream.transaction((transaction) => stream.topic(topic).push(transaction, [1, 2]))
    expect(woken.mock.calls).toContainEqual(['typed-woken'])
    await expect.poll(() => fixture.states(topic)).toEqual({ succeeded: 2 })
    await expect.poll(() => woken.mock.calls).toContainEqual(['typed-woken-next'])
    await stream.topic(topic).submit([3])
    await expect.poll(() => fixture.states(next)).toEqual({ succeeded: 3 })
    expect(inputs).toEqual([1, 2, 3])
    woken.mockClear()
    await stream.topic(topic).submit([4], { each: () => ({ delayMs: 86_400_000 }) })
    woken.mockClear()
    await stream.transaction((transaction) => stream.topic(topic).reschedule(transaction, { key: '4' }, { priority: 1 }))
    expect(woken.mock.calls).toContainEqual(['typed-woken'])
  })

  test('gives a handler its tasks with inputs by the schema, and takes its decisions', async () => {
    const topic = defineTopic('typed-decided', {
      input: z.object({ id: z.string().transform(Number) }),
      key: ({ id }) => `k${id}`,
      id: ({ id }) => `task ${id}`,
      deadlineMs: 3_600_000,
      maxTries: 4,
      tags: { kind: 'usual' },
    })
    const given: unknown[] = []
    await using stream = fixture.streamOf()
    stream.topic(topic).process({
      handler: (held, { signal, failed }) => {
        for (const { id, key, input, tries, attempt, maxTries, tags, deadline, task } of held) {
          const doubled: number = input.id * 2
          given.push({ id, key, doubled, tries, attempt, maxTries, tags, is: deadline instanceof Date, stored: task.input })
        }
        expect(signal.aborted).toBe(false)
        const [first, second, third] = held
        return new Map([
          [first!, TaskDecision.success('done')],
          [second!, TaskDecision.filter('not wanted')],
          [third!, failed(third!, new TypeError('no'))],
        ])
      },
    })
    await stream.start()
    await stream.topic(topic).submit([{ id: '1' }, { id: '2' }, { id: '3' }, { id: '4' }])
    await expect.poll(() => fixture.states(topic)).toEqual({ succeeded: 1, filtered: 1, delayed: 1, failed: 1 })
    expect(given).toHaveLength(4)
    const common = { tries: 1, attempt: 1, maxTries: 4, tags: { kind: 'usual' }, is: true }
    expect(given[1]).toEqual({ id: 'task 2', key: 'k2', doubled: 4, stored: '{"id":"2"}', ...common })
    const last = (await fixture.page(topic)).at(-1)
    expect(last).toMatchObject({ identifier: 'k4', output: 'The handler returned no decision for this task' })
  })

  test.each(['leased', 'transactional'] as const)(
    'commits what a batch writes once, with the tasks that succeed, in mode %s',
    async (mode) => {
      const topic = defineTopic(`typed-complete-${mode}`, { input: json<number>(), key: String, retry: twice })
      const followed = defineJob(`typed-followed-${mode}`, { input: json<string>() })
      await using stream = fixture.streamOf()
      let runs = 0
      stream.topic(topic).process({
        mode,
        size: 10,
        handler: (_, { complete }) =>
          complete(async (transaction, held) => {
            for (const { input } of held) await fixture.effect(transaction, `${input}`)
            await stream.push(transaction, followed, held.map(({ key }) => key).join())
            if (++runs === 1) throw new Error('the work fails once')
          }),
      })
      stream.handle(followed, ({ input, commit }) => commit((transaction) => fixture.effect(transaction, input)), {
        idleMs: 60_000,
      })
      await stream.start()
      await stream.topic(topic).submit([1, 2, 3])
      await expect.poll(() => fixture.states(topic)).toEqual({ succeeded: 3 })
      await expect.poll(() => fixture.effects()).toEqual(['1', '2', '3', '1,2,3'])
    },
  )

  test('decides in the completing transaction by what the work returns', async () => {
    const topic = defineTopic('typed-work', { input: json<number>(), key: String })
    const all = defineTopic('typed-work-all', { input: json<number>(), key: String })
    await using stream = fixture.streamOf()
    stream.topic(topic).process({
      handler: (held, { complete }) => {
        const decisions = new Map(held.map((task) => [task, task.input > 1 ? TaskDecision.filter() : TaskDecision.success()]))
        return complete(() => decisions)
      },
    })
    stream.topic(all).process({ handler: (_, { complete }) => complete(() => TaskDecision.suspension('for later')) })
    await stream.start()
    await stream.topic(topic).submit([1, 2, 3])
    await stream.topic(all).submit([1, 2])
    await expect.poll(() => fixture.states(topic)).toEqual({ succeeded: 1, filtered: 2 })
    await expect.poll(() => fixture.states(all)).toEqual({ suspended: 2 })
  })

  test('shares a transaction among small batches, and runs each alone if one of them throws', async () => {
    const topic = defineTopic('typed-shared', { input: json<number>(), key: String, retry: twice })
    await using stream = fixture.streamOf()
    stream.topic(topic).process({
      size: 1,
      share: 20,
      concurrency: 20,
      handler: (_, { complete }) =>
        complete(async (transaction, held) => {
          for (const { input, tries } of held) {
            await fixture.effect(transaction, `${input}`)
            if (input % 5 === 0 && tries === 1) throw new Error('every fifth fails once')
          }
        }),
    })
    await stream.start()
    const inputs = Array.from({ length: 30 }, (_, index) => index)
    await stream.topic(topic).submit(inputs)
    await expect.poll(() => fixture.states(topic), { timeout: 20_000 }).toEqual({ succeeded: 30 })
    expect((await fixture.effects()).map(Number).toSorted((left, right) => left - right)).toEqual(inputs)
    const tried = (await fixture.page(topic)).filter(({ tries }) => tries > 1).map(({ identifier }) => Number(identifier) % 5)
    expect(tried).toEqual([0, 0, 0, 0, 0, 0])
  })

  test('gives the work only what is still held, and takes no notice of decisions for the rest', async () => {
    const topic = defineTopic('typed-lost', { input: z.number(), key: String })
    await using stream = fixture.streamOf()
    const cancelled = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const held: number[][] = []
    stream.topic(topic).process({
      handler: async (tasks, { complete }) => {
        const decisions = new Map(tasks.map((task) => [task, TaskDecision.success()]))
        begun.resolve()
        await cancelled.promise
        return complete((_, still) => {
          held.push(still.map(({ input }) => input))
          return decisions
        })
      },
      concurrency: 1,
      size: 5,
    })
    await stream.prepare(topic)
    await stream.transaction(async (transaction) => {
      const misfits = ['bad', 'worse'].map((identifier) => ({ identifier, input: '{}' }))
      await fixture.subject.tasks().push(transaction, topic.name, misfits)
    })
    const [, second] = await stream.topic(topic).submit([1, 2, 3])
    await stream.start()
    await begun.promise
    await stream.transaction(async (transaction) => {
      await stream.topic(topic).cancel(transaction, { key: '1' })
      await stream.topic(topic).cancel(transaction, { key: 'bad' })
      await stream.topic(topic).cancel(transaction, second!)
    })
    cancelled.resolve()
    await expect.poll(() => fixture.states(topic)).toEqual({ filtered: 3, failed: 1, succeeded: 1 })
    expect(held).toEqual([[3]])
  })

  test('does not call the work if nothing is held any more', async () => {
    const topic = defineTopic('typed-all-lost', { input: json<number>(), key: String })
    await using stream = fixture.streamOf()
    const cancelled = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    let ended = 0
    let worked = 0
    stream.topic(topic).process({
      handler: async ([first], { complete }) => {
        if (first!.input > 2) return void ended++
        begun.resolve()
        await cancelled.promise
        return complete(() => void worked++)
      },
      concurrency: 1,
      size: 2,
    })
    await stream.start()
    await stream.topic(topic).submit([1, 2])
    await begun.promise
    for (const key of ['1', '2']) await stream.transaction((transaction) => stream.topic(topic).cancel(transaction, { key }))
    cancelled.resolve()
    // Batches of a topic follow each other here, so the first has ended by then.
    await stream.topic(topic).submit([3])
    await expect.poll(() => fixture.states(topic)).toEqual({ filtered: 2, succeeded: 1 })
    expect([ended, worked]).toEqual([1, 0])
  })

  test('counts a try against tasks whose handler leaves them undecided as its time is up', async () => {
    const topic = defineTopic('typed-late', { input: json<number>(), key: String, retry: twice })
    await using stream = fixture.streamOf()
    stream.topic(topic).process({
      timeoutMs: 20,
      handler: async (held, { signal }) => {
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve)
        })
        // The other task was done in time, and its handler says so.
        return held[0]!.input === 1 ? new Map([[held[0]!, TaskDecision.success()]]) : undefined
      },
      size: 1,
    })
    await stream.start()
    await stream.topic(topic).submit([1, 2])
    await expect.poll(() => fixture.states(topic)).toEqual({ succeeded: 1, failed: 1 })
    expect(await fixture.page(topic)).toMatchObject([{ tries: 1 }, { tries: 2, reason: 'timeout' }])
  })

  test('hands back what its handler leaves undecided as the stream stops', async () => {
    const topic = defineTopic('typed-stopped', { input: json<{ symbol: string; price: number }>(), key: ({ symbol }) => symbol })
    const stream = fixture.streamOf()
    const begun = Promise.withResolvers<void>()
    stream.topic(topic).process({
      handler: async (_, { signal }) => {
        begun.resolve()
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve)
        })
      },
    })
    await stream.start()
    await stream.topic(topic).submit([{ symbol: 'EUR', price: 1 }])
    await begun.promise
    await stream.stop({ graceMs: 0 })
    expect(await fixture.states(topic)).toEqual({ ready: 1 })
    expect(await codeOf(() => stream.topic(topic).submit([{ symbol: 'EUR', price: 1 }]))).toBe('LIFECYCLE')
  })

  test.each<[string, RegExp, (task: TopicTask<number>, context: TopicContext<AnyTransaction, number>) => unknown]>([
    ['calls complete and returns something else', /did not return what it returns/, (_, { complete }) => void complete(() => {})],
    ['calls complete twice', /called complete twice/, (_, { complete }) => [complete(() => {}), complete(() => {})]],
    [
      'completes in its completion',
      /it has one/,
      (_, { complete }) => {
        const completion = complete((): never => completion as never)
        return completion
      },
    ],
    ['returns a list', /outcome of the topic .* must be nothing, a TaskDecision, or a Map/, () => [TaskDecision.success()]],
    ['decides of what is no task', /is no task of the batch/, ({ task }) => new Map([[task, TaskDecision.success()]])],
  ])('fails with advice what a handler leaves that %s', async (name, message, handler) => {
    const topic = defineTopic(`misused ${name}`, { input: json<number>(), retry: () => undefined })
    await using stream = fixture.streamOf()
    stream.topic(topic).process({ handler: ([task], context) => handler(task!, context) as undefined })
    await stream.start()
    await stream.topic(topic).submit([1])
    await expect.poll(() => fixture.states(topic)).toEqual({ failed: 1 })
    const [task]: TaskInfo[] = await fixture.page(topic)
    expect(task!.output).toMatch(message)
  })
})
