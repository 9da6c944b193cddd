/** A node takes and completes at most a thousand small tasks at once, and never runs more handlers than it may. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'
import { watchedClock } from './watched-clock.ts'

const aDay = 86_400_000
const patient = { heartbeatIntervalMs: aDay, leaseMs: 3 * aDay, maintenanceIntervalMs: aDay }
const succeed = (tasks: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
  new Map(tasks.map((task) => [task, TaskDecision.success()]))

describe.skipIf(!canRun)('of many tasks', () => {
  const fixture = useNodeFixture('many')

  const pushMany = (count: number): Promise<unknown> =>
    fixture.push(...Array.from({ length: count }, (_, index) => `task ${index}`))

  /** Records how many tasks each poll asks for, and how many tasks each completion has. */
  const watched = (tasks: Tasks): { readonly tasks: Tasks; readonly polls: number[]; readonly completions: number[] } => {
    const [polls, completions]: [number[], number[]] = [[], []]
    const watching = Object.create(tasks) as Tasks
    watching.poll = ((transaction: AnyTransaction, topic: string, options: { size: number }) => {
      polls.push(options.size)
      return tasks.poll(transaction, topic, options)
    }) as unknown as Tasks['poll']
    watching.complete = ((transaction: AnyTransaction, topic: string, decisions: Map<HeldTask, TaskDecision>) => {
      completions.push(decisions.size)
      return tasks.complete(transaction, topic, decisions)
    }) as unknown as Tasks['complete']
    return { tasks: watching, polls, completions }
  }

  /** Processes `count` tasks in batches of `size`. No batch is done before all batches have begun. */
  const process = async (count: number, size: number): Promise<Omit<ReturnType<typeof watched>, 'tasks'>> => {
    await pushMany(count)
    const { tasks, ...seen } = watched(fixture.tasks)
    const concurrency = Math.ceil(count / size)
    let begun = 0
    const gate = Promise.withResolvers<void>()
    await using node = fixture.nodeOf({ ...patient, repository: tasks })
    const handler = async (batch: readonly HeldTask[]): Promise<Map<HeldTask, TaskDecision>> => {
      if (++begun === concurrency) gate.resolve()
      await gate.promise
      return succeed(batch)
    }
    node.process(fixture.topic, { size, concurrency, handler })
    await node.start()
    await gate.promise
    const polls = [...seen.polls]
    await expect.poll(fixture.states).toEqual({ succeeded: count })
    // Several completions may be under way at a time, and any may be the first.
    return { polls, completions: seen.completions.toSorted((left, right) => left - right) }
  }

  test.each([
    [1, 2_100, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000, 77]],
    [300, 2_400, [300, 600, 900, 600]],
    [600, 2_400, [600, 600, 600, 600]],
    [1_500, 4_500, [1_500, 1_500, 1_500]],
  ])('a thousand at most are polled at once in batches of %i, or one batch', async (size, count, asked) => {
    expect((await process(count, size)).polls).toEqual(asked)
  })

  test('a batch of a thousand is completed by itself, and smaller ones that end together are completed together', async () => {
    expect((await process(2_000, 1_000)).completions).toEqual([1_000, 1_000])
    await fixture.next()
    expect((await process(600, 100)).completions).toEqual([600])
  })

  test('a thousand at most are completed together', async () => {
    expect((await process(20 * 99, 99)).completions).toEqual([10 * 99, 10 * 99])
  })

  test('none is polled while as many handlers as there may be batches go on after their time, and all are once one of them ends', async () => {
    await pushMany(4)
    const clock = watchedClock()
    const { tasks, polls } = watched(fixture.subject.tasks({ clock: clock.now }))
    const gate = Promise.withResolvers<void>()
    const [begun, stuck]: [string[], string[]] = [[], []]
    await using node = fixture.nodeOf({
      ...patient,
      repository: tasks,
      clock,
      listener: { onStuck: ({ tasks: [task] }) => void stuck.push(task!.identifier) },
    })
    node.process(fixture.topic, {
      size: 1,
      concurrency: 1,
      idleMs: aDay,
      timeoutMs: 1_500,
      abortMs: 700,
      handler: eachTask(async ({ identifier }) => {
        begun.push(identifier)
        if (begun.length === 1) await gate.promise
      }),
    })
    await node.start()
    await expect.poll(() => begun).toEqual(['task 0'])
    clock.advance(2_200)
    await expect.poll(() => stuck).toEqual(['task 0'])
    // The task of the stuck handler is decided without the handler.
    await expect.poll(fixture.states).toEqual({ failed: 1, ready: 3 })
    const before = polls.length
    /** Returns how often the loop went to sleep because there was no room for another batch. */
    const looked = (): number => clock.pauses.filter((ms) => ms === 1_000).length
    for (let round = 0; round < 5; round++) {
      const last = looked()
      await expect.poll(() => (clock.advance(1_000), looked())).toBeGreaterThan(last)
    }
    expect([polls.length, await fixture.states()]).toEqual([before, { failed: 1, ready: 3 }])
    gate.resolve()
    await expect.poll(fixture.states).toEqual({ failed: 1, succeeded: 3 })
  })
})
