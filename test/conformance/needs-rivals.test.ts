/** Tasks that end at once, in several transactions, start what needs them all: once, and never not at all. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, Settlement, TaskKey } from '@taskstream/task-api'
import { openFixture, whileTested } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'

const rounds = 30
const fan = 20_000

describe.skipIf(!canRun)('a task that needs others', () => {
  const fixture = whileTested(() => openFixture(engine))

  const settle = (): Promise<Settlement> =>
    fixture.commit<Settlement>((transaction) => fixture.tasks.settle(transaction, fixture.topic))
  /** Pushes a task that needs these. */
  const blocked = async (topic: string, needed: readonly TaskKey[]): Promise<TaskKey> => {
    const { tasks, commit } = fixture
    return commit<TaskKey>(async (transaction) => {
      const [task] = await tasks.push(transaction, topic, { identifier: 'needs', suspended: true })
      const on = needed.map(({ topic, sequence }) => ({ need: 'n', on: { topic, sequence } }))
      await tasks.depend(transaction, task!, on)
      return task!
    })
  }

  test('starts once though the last two of them end at once, and several settle at once', { timeout: 60_000 }, async () => {
    let started = 0
    for (let round = 0; round < rounds; round++) {
      await fixture.nextTopic()
      const needed = await fixture.push('a', 'b')
      await blocked(fixture.topic, needed)
      const [first, second] = (await fixture.poll(2)) as [HeldTask, HeldTask]
      const settled = await Promise.all([
        ...[first, second].map(async (task) => {
          await fixture.complete([task])
          return settle()
        }),
        settle(),
      ])
      // Whoever came last looks once more, as a loop does that knows of a blocked task.
      const all = [...settled, await settle()]
      started += all.reduce((sum, one) => sum + one.started, 0)
      expect(await fixture.states()).toEqual({ succeeded: 2, ready: 1 })
    }
    expect(started).toBe(rounds)
  })

  test('of which others are being rolled back waits for what they are tried with again', async () => {
    await fixture.nextTopic()
    const { tasks, topic, subject } = fixture
    await blocked(topic, await fixture.push('a'))
    const held = await fixture.poll(1)
    await subject
      .transactions(async (transaction) => {
        await tasks.complete(transaction, topic, new Map(held.map((task) => [task, TaskDecision.failure('not kept')])))
        throw new Error('rolled back')
      })
      .catch(() => {})
    expect(await settle()).toEqual({ started: 0, unreachable: 0 })
    await fixture.complete(held)
    expect(await settle()).toEqual({ started: 1, unreachable: 0 })
  })

  test(`starts when ${fan} others have succeeded, by one look`, { timeout: 120_000 }, async () => {
    await fixture.nextTopic()
    const needed = await fixture.push(...Array.from({ length: fan }, (_, index) => `n${index}`))
    const child = await blocked(fixture.topic, needed)
    let left = fan
    while (left > 1) {
      const held = await fixture.poll(Math.min(1_000, left - 1))
      await fixture.complete(held)
      left -= held.length
    }
    expect(await settle()).toEqual({ started: 0, unreachable: 0 })
    await fixture.complete(await fixture.poll(1))
    expect(await settle()).toEqual({ started: 1, unreachable: 0 })
    const [last] = await fixture.poll(1)
    expect(last?.sequence).toBe(child.sequence)
  })
})
