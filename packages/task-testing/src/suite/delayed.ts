/** Delayed tasks become ready when they are due, and not before. */
import { TaskDecision } from '@taskstream/task-api'
import type { PromotedDue, HeldTask } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { part } from './engine.ts'
import type { Part } from './engine.ts'
import { names, useFixture } from './fixture.ts'

export const delayed: Part = part('tasks that wait', (engine) => {
  let now = Date.UTC(2026, 0, 1)
  const fixture = useFixture(engine, { clock: () => new Date(now) })
  const release = (limit?: number): Promise<PromotedDue> =>
    fixture.commit<PromotedDue>((transaction) =>
      fixture.tasks.promoteDue(transaction, fixture.topic, limit === undefined ? {} : { limit }),
    )

  test('are released when they are due, and it is known when the next one is', async () => {
    expect(await release()).toEqual({ promoted: 0 })
    await fixture.push(
      { identifier: 'later', delayMs: 2_000 },
      { identifier: 'soon', delayMs: 1_000 },
      { identifier: 'never', suspended: true },
    )
    expect(await release()).toEqual({ promoted: 0, nextDueMs: 1_000 })
    now += 999
    expect(await release()).toEqual({ promoted: 0, nextDueMs: 1 })
    now += 1
    expect(await release()).toEqual({ promoted: 1, nextDueMs: 1_000 })
    expect(names(await fixture.poll())).toEqual(['soon'])
    now += 5_000
    expect(await release()).toEqual({ promoted: 1 })
    expect(names(await fixture.poll())).toEqual(['later'])
    expect(await fixture.states()).toEqual({ active: 2, suspended: 1 })
  })

  test('are released so many at a time, the longest overdue first, and polled in the order they were pushed', async () => {
    await fixture.push(
      { identifier: 'a', due: new Date(now + 30) },
      { identifier: 'b', due: new Date(now + 20) },
      { identifier: 'c', due: new Date(now + 10) },
    )
    now += 100
    expect(await release(2)).toEqual({ promoted: 2, nextDueMs: 0 })
    expect(names(await fixture.poll())).toEqual(['b', 'c'])
    expect(await release(2)).toEqual({ promoted: 1 })
    expect(names(await fixture.poll())).toEqual(['a'])
  })

  test('keep to their own topic', async () => {
    const first = fixture.topic
    await fixture.push({ identifier: 'a', delayMs: 1 })
    await fixture.nextTopic()
    await fixture.push({ identifier: 'b', delayMs: 1 }, { identifier: 'c', delayMs: 1_000 })
    now += 10
    expect(await release()).toEqual({ promoted: 1, nextDueMs: 990 })
    expect(names(await fixture.poll())).toEqual(['b'])
    const ofFirst = (): Promise<unknown> => fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, first))
    expect([await ofFirst(), await ofFirst()]).toEqual([{ promoted: 1 }, { promoted: 0 }])
  })

  test('for a retry are due so long after the completion, by the clock of the database', async () => {
    await fixture.push('a')
    const [a] = await fixture.poll()
    await fixture.commit((transaction) =>
      fixture.tasks.complete(transaction, fixture.topic, new Map([[a!, TaskDecision.retry({ afterMs: 500 })]])),
    )
    const [info] = await fixture.page()
    expect(info).toMatchObject({ state: 'suspended', due: new Date(now + 500) })
    now += 500
    expect(await release()).toEqual({ promoted: 1 })
    const [again] = await fixture.page()
    expect(again).toMatchObject({ state: 'ready', attempt: 1 })
    expect(again).not.toHaveProperty('due')
    expect(await fixture.poll()).toMatchObject([{ attempt: 2, tries: 2 }])
  })

  test('handed back are ready at once, without an owner, with their try refunded and their attempt counted', async () => {
    await fixture.push('a', 'b')
    const [a, b] = (await fixture.poll()) as [HeldTask, HeldTask]
    const handBack = (...tasks: HeldTask[]): Promise<unknown> =>
      fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, tasks))
    expect(await handBack(a)).toEqual({ completed: [a], lost: [] })
    const [info] = await fixture.page()
    expect(info).toMatchObject({ state: 'ready', attempt: 1, tries: 0 })
    expect(info).not.toHaveProperty('owner')
    expect(await handBack(a, b)).toEqual({ completed: [b], lost: [a] })
    expect(await handBack()).toEqual({ completed: [], lost: [] })
  })
})
