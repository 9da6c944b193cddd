/** Small batches are polled and completed together, so they cost no more than larger ones. In all else they are independent. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { Completion, HeldTask } from '@taskstream/task-api'
import { bound, eachTask } from '@taskstream/task-processor'
import { beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

const count = 60
const concurrency = 20
const identifiers = Array.from({ length: count }, (_, index) => `i${index}`)
const succeed = eachTask(() => TaskDecision.success())

describe.skipIf(!canRun)('batches of one', () => {
  const fixture = useNodeFixture('small')
  beforeEach(async () => {
    await fixture.push(...identifiers)
  })

  /** The sizes of polls and completions. */
  interface Asked {
    readonly polls: [asked: number, found: number][]
    readonly completions: number[]
  }

  /** Notes what a repository is asked for. `fail` may refuse a completion. */
  function watched(
    tasks: Tasks,
    fail: (decisions: ReadonlyMap<HeldTask, TaskDecision>) => void = () => {},
  ): Asked & { tasks: Tasks } {
    const asked: Asked = { polls: [], completions: [] }
    const watching = Object.create(tasks) as Tasks
    watching.poll = (async (transaction: AnyTransaction, topic: string, options: { size: number }) => {
      const found = (await tasks.poll(transaction, topic, options)) as HeldTask[]
      asked.polls.push([options.size, found.length])
      return found
    }) as unknown as Tasks['poll']
    watching.complete = (async (transaction: AnyTransaction, topic: string, decisions: Map<HeldTask, TaskDecision>) => {
      asked.completions.push(decisions.size)
      fail(decisions)
      return await tasks.complete(transaction, topic, decisions)
    }) as unknown as Tasks['complete']
    return { ...asked, tasks: watching }
  }

  test('are polled several at a time, more and more as long as there are enough, and never more than there may be', async () => {
    const { polls, tasks } = watched(fixture.tasks)
    const gate = Promise.withResolvers<void>()
    const sizes: number[] = []
    await using node = fixture.nodeOf({ repository: tasks })
    const handler = async (batch: readonly HeldTask[]): Promise<Map<HeldTask, TaskDecision>> => {
      sizes.push(batch.length)
      await gate.promise
      return new Map(batch.map((task) => [task, TaskDecision.success()]))
    }
    node.process(fixture.topic, { size: 1, concurrency, handler })
    await node.start()
    await expect.poll(() => sizes.length).toBe(concurrency)
    expect(polls.map(([asked]) => asked)).toEqual([1, 2, 4, 8, 5])
    expect(await fixture.states()).toEqual({ active: concurrency, ready: count - concurrency })
    gate.resolve()
    await expect.poll(fixture.states).toEqual({ succeeded: count })
    expect(new Set(sizes)).toEqual(new Set([1]))
    // After a poll that is not full, the next asks for one batch again.
    await expect.poll(() => polls.at(-1)).toEqual([1, 0])
  })

  test('are polled one by one where a slot is for one', async () => {
    const { polls, tasks } = watched(fixture.tasks)
    await using node = fixture.nodeOf({ repository: tasks, limiter: bound(concurrency) })
    node.process(fixture.topic, { size: 1, concurrency, handler: succeed })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: count })
    expect(new Set(polls.map(([asked]) => asked))).toEqual(new Set([1]))
  })

  test('are completed together when they end together', async () => {
    const { completions, tasks } = watched(fixture.tasks)
    const told: Completion[] = []
    let begun = 0
    const gate = Promise.withResolvers<void>()
    await using node = fixture.nodeOf({
      repository: tasks,
      listener: { onComplete: ({ completion }) => void told.push(completion) },
    })
    const handler = eachTask(async () => {
      if (++begun === concurrency) gate.resolve()
      await gate.promise
    })
    node.process(fixture.topic, { size: 1, concurrency, handler })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: count })
    await expect.poll(() => told.length).toBe(count)
    expect(completions[0]).toBe(concurrency)
    expect(completions.length).toBeLessThan(count)
    expect(told.every(({ completed, lost }) => completed.length === 1 && lost.length === 0)).toBe(true)
    expect(new Set(told.map(({ completed: [task] }) => task!.identifier)).size).toBe(count)
  })

  test('are completed alone when together they cannot be', async () => {
    const refused: number[] = []
    const { completions, tasks } = watched(fixture.tasks, ({ size }) => {
      if (size === 1) return
      refused.push(size)
      throw new TaskError('ARGUMENT_INVALID', 'Refused together', {})
    })
    const errors: unknown[] = []
    await using node = fixture.nodeOf({ repository: tasks, listener: { onError: ({ error }) => void errors.push(error) } })
    node.process(fixture.topic, { size: 1, concurrency, handler: eachTask(async () => await undefined) })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: count })
    expect(refused.length).toBeGreaterThan(0)
    expect(completions.filter((size) => size === 1)).toHaveLength(count)
    expect(errors).toEqual([])
  })

  test('hear each of its own task when one of those that were completed together was lost', async () => {
    const lost: string[] = []
    const done: string[] = []
    let begun = 0
    const gate = Promise.withResolvers<void>()
    const held = new Map<string, HeldTask>()
    await using node = fixture.nodeOf({
      listener: {
        onLost: ({ tasks }) => void lost.push(...tasks.map(({ identifier }) => identifier)),
        onComplete: ({ completion }) => void done.push(...completion.completed.map(({ identifier }) => identifier)),
      },
    })
    const handler = eachTask(async (task) => {
      held.set(task.identifier, task)
      if (++begun === concurrency) {
        // Somebody else decides of one that will be completed with others.
        const taken = new Map([[held.get('i7')!, TaskDecision.failure('taken')]])
        await fixture.complete((transaction) => fixture.tasks.complete(transaction, fixture.topic, taken) as Completion)
        gate.resolve()
      }
      await gate.promise
    })
    node.process(fixture.topic, { size: 1, concurrency, handler })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: count - 1, failed: 1 })
    await expect.poll(() => lost).toEqual(['i7'])
    await expect.poll(() => done.toSorted()).toEqual(identifiers.filter((each) => each !== 'i7').toSorted())
  })
})
