/** Each verb has a default limit: how many tasks it takes where the caller gives no number. */
import { TaskDecision } from '@taskstream/task-api'
import type { Expiry, HeldTask, RecreatedTask, Redrive, PromotedDue, TopicOverview } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { names, useFixture } from './fixture.ts'
import { part } from './engine.ts'
import type { AnyTransaction, Part } from './engine.ts'

export const defaults: Part = part('by default', (engine) => {
  const fixture = useFixture(engine)
  const commit = <Result>(work: (transaction: AnyTransaction, topic: string) => unknown): Promise<Result> =>
    fixture.commit<Result>((transaction) => work(transaction, fixture.topic) as Result)
  const pushMany = (count: number, more: object = {}): Promise<unknown> =>
    fixture.push(...Array.from({ length: count }, (_, index) => ({ identifier: `t${index}`, ...more })))

  test('a poll takes one task, and a selection brings one back, the first', async () => {
    await fixture.push('a', 'b')
    const held = await commit<HeldTask[]>((transaction, topic) => fixture.tasks.poll(transaction, topic))
    expect(names(held)).toEqual(['a'])
    await fixture.complete([...held, ...(await fixture.poll())], TaskDecision.failure())
    const made = await commit<RecreatedTask[]>((transaction, topic) =>
      fixture.tasks.recreate(transaction, topic, 'append', { state: 'failed' }),
    )
    expect(made.map(({ from }) => from.identifier)).toEqual(['a'])
  })

  test('a page has a hundred tasks', async () => {
    await pushMany(101)
    expect(names(await fixture.page())).toEqual(Array.from({ length: 100 }, (_, index) => `t${index}`))
  })

  test('a release is of a thousand tasks, and tells that others are due', async () => {
    await pushMany(1_001, { due: new Date(0) })
    const release = (): Promise<PromotedDue> =>
      commit<PromotedDue>((transaction, topic) => fixture.tasks.promoteDue(transaction, topic))
    expect(await release()).toEqual({ promoted: 1_000, nextDueMs: 0 })
    expect(await release()).toStrictEqual({ promoted: 1 })
  })

  test('expiry, redrive and purge are of ten thousand tasks or attempts, and the overview counts a thousand', async () => {
    const rival = await fixture.owner()
    await pushMany(10_001)
    for (const size of [10_000, 1]) await fixture.poll(size, rival)
    const overview = async (limit?: number): Promise<TopicOverview | undefined> => {
      const all = await commit<TopicOverview[]>((transaction) => fixture.tasks.overview(transaction, limit ? { limit } : {}))
      return all.find(({ topic }) => topic === fixture.topic)
    }
    expect(await overview()).toMatchObject({ active: 1_000, ready: 0 })
    expect(await overview(20_000)).toMatchObject({ active: 10_001, ready: 0 })
    await commit((transaction) => rival.unregister(transaction))
    const expire = (): Promise<Expiry> =>
      commit<Expiry>((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 60_000 }))
    const redrive = (): Promise<Redrive> =>
      commit<Redrive>((transaction, topic) => fixture.tasks.redrive(transaction, topic, { states: ['expired'] }))
    const purge = (): Promise<number> => commit<number>((transaction, topic) => fixture.tasks.purge(transaction, topic))
    expect([(await expire()).expired, (await expire()).expired]).toEqual([10_000, 1])
    expect([(await redrive()).count, (await redrive()).count]).toEqual([10_000, 1])
    expect(await overview()).toMatchObject({ active: 0, ready: 1_000 })
    for (const size of [10_000, 1]) await fixture.complete(await fixture.poll(size))
    // Each was lost once. Attempts of other topics are there too.
    const purgeAttempts = (): Promise<number> =>
      commit<number>((transaction) => fixture.tasks.purgeAttempts(transaction, { olderThanMs: 0 }))
    expect(await purgeAttempts()).toBe(10_000)
    expect(await purgeAttempts()).toBeGreaterThan(0)
    expect([await purge(), await purge(), await purge()]).toEqual([10_000, 1, 0])
  })
})
