/** An instant resolves to the first sequence pushed at or after it, or to the last one at or before it. */
import { testClock } from '../test-clock.ts'
import { expect, test } from 'vitest'
import { openFixture } from './fixture.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'

const start = new Date('2026-01-01T00:00:00.000Z')

export const resolved: Part = part('an instant', (engine) => {
  test('resolves to the first sequence at or after it, or to the last at or before it, over all topics', async () => {
    const clock = testClock(start)
    await using fixture = await openFixture(engine, clock.now)
    await fixture.nextTopic({ record: 'states' })
    const pushAt = async (ms: number): Promise<number> => {
      clock.set(new Date(start.getTime() + ms))
      return (await fixture.push('a'))[0]!.sequence
    }
    const resolve = (ms: number, preceding: boolean): Promise<number> =>
      fixture.commit<number>((transaction) => fixture.tasks.resolve(transaction, new Date(start.getTime() + ms), { preceding }))
    const none = Number.MAX_SAFE_INTEGER
    expect([await resolve(0, false), await resolve(0, true)]).toEqual([none, 0])
    expect(await fixture.commit((transaction) => fixture.tasks.resolve(transaction, start))).toBe(none)
    const first = await pushAt(10)
    await fixture.nextTopic({ record: 'states' })
    const [second, third] = [await pushAt(20), await pushAt(20)]
    const found: unknown[] = []
    for (const ms of [9, 10, 11, 19, 20, 21]) found.push([await resolve(ms, false), await resolve(ms, true)])
    expect(found).toEqual([
      [first, 0],
      [first, first],
      [second, first],
      [second, first],
      [second, third],
      [none, third],
    ])
  })
})
