/** A purge goes by a task's age to the millisecond, and each change of state says from which instant the age counts. */
import { TaskDecision } from '@taskstream/task-api'
import type { PurgeOptions, Revivification } from '@taskstream/task-api'
import { testClock } from '../test-clock.ts'
import { expect, test } from 'vitest'
import { names, useFixture } from './fixture.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'

const start = new Date('2026-01-01T00:00:00.000Z')
const hour = 3_600_000

export const ages: Part = part('the age of a task, to a purge,', (engine) => {
  const clock = testClock(start)
  const fixture = useFixture(engine, { clock: clock.now, topic: { keyed: true } })

  const purge = (options: PurgeOptions): Promise<number> =>
    fixture.commit<number>((transaction) => fixture.tasks.purge(transaction, fixture.topic, options))
  /** Expects that all tasks of the topic have this age, to the millisecond. */
  const expectAge = async (ageMs: number, states: NonNullable<PurgeOptions['states']>): Promise<void> => {
    const count = (await fixture.page()).length
    expect(count).toBeGreaterThan(0)
    expect(await purge({ states, olderThanMs: ageMs + 1 })).toBe(0)
    expect(await purge({ states, olderThanMs: ageMs })).toBe(count)
  }

  test('is counted from its completion, however long it has waited to be taken up', async () => {
    await fixture.push('a', 'b', 'c', 'd')
    clock.advance(hour)
    const [a, b, c, d] = await fixture.poll(4)
    clock.advance(hour)
    await fixture.complete([a!])
    await fixture.complete([b!], TaskDecision.failure())
    await fixture.complete([c!], TaskDecision.filter())
    await fixture.complete([d!], TaskDecision.suspension())
    clock.advance(1_000)
    await expectAge(1_000, ['succeeded', 'failed', 'filtered', 'suspended'])
  })

  test('is counted from its push while it has not been completed', async () => {
    await fixture.push('ready', { identifier: 'aside', suspended: true }, { identifier: 'delayed', delayMs: 2 * hour }, 'active')
    await fixture.poll(1)
    clock.advance(hour)
    await expectAge(hour, ['ready', 'suspended', 'delayed', 'active'])
  })

  test('is counted from its last try while it waits for the next, and from its push once it is ready again', async () => {
    await fixture.push('a', 'b')
    clock.advance(hour)
    await fixture.complete(await fixture.poll(2), TaskDecision.retry({ afterMs: 2_000 }))
    clock.advance(1_000)
    expect(await purge({ states: ['delayed'], olderThanMs: 1_001 })).toBe(0)
    expect(await purge({ states: ['delayed'], olderThanMs: 1_000, identifier: 'b' })).toBe(1)
    clock.advance(1_000)
    await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
    await expectAge(hour + 2_000, ['ready'])
  })

  test('is counted from the expiry that found no tries left', async () => {
    const rival = await fixture.owner()
    await fixture.push({ identifier: 'a', maxTries: 1 })
    await fixture.poll(1, rival)
    clock.advance(hour)
    await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 1_000, then: 'ready' }))
    clock.advance(1_000)
    await expectAge(1_000, ['failed'])
  })

  test('is counted from its push where it expired, and as before where it became redundant', async () => {
    const rival = await fixture.owner()
    await fixture.push('a')
    await fixture.poll(1, rival)
    clock.advance(hour)
    await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 1_000 }))
    clock.advance(1_000)
    await fixture.commit((transaction) => fixture.tasks.push(transaction, fixture.topic, 'a', { insertion: 'replace' }))
    expect(await purge({ olderThanMs: hour + 1_001 })).toBe(0)
    expect(await purge({ olderThanMs: hour + 1_000 })).toBe(1)
    await fixture.complete(await fixture.poll(1))
    clock.advance(2_000)
    await fixture.commit((transaction) => fixture.tasks.push(transaction, fixture.topic, 'a', { insertion: 'replace' }))
    expect(await purge({ states: ['redundant'], olderThanMs: 2_001 })).toBe(0)
    expect(await purge({ states: ['redundant'], olderThanMs: 2_000 })).toBe(1)
  })

  test.each<Revivification>(['reset', 'append'])('begins anew where it is brought back by a new task only: %s', async (how) => {
    await fixture.push('a')
    clock.advance(hour)
    await fixture.complete(await fixture.poll(1), TaskDecision.failure())
    clock.advance(hour)
    await fixture.commit((transaction) => fixture.tasks.recreate(transaction, fixture.topic, how, { state: 'failed' }))
    clock.advance(1_000)
    expect(await purge({ states: ['recreated'], olderThanMs: hour + 1_001 })).toBe(0)
    expect(await purge({ states: ['recreated'], olderThanMs: hour + 1_000 })).toBe(how === 'reset' ? 0 : 1)
    await expectAge(how === 'reset' ? 2 * hour + 1_000 : 1_000, ['ready'])
  })

  test('stays as it is where its result is corrected', async () => {
    await fixture.push('a')
    clock.advance(hour)
    await fixture.complete(await fixture.poll(1), TaskDecision.failure())
    clock.advance(1_000)
    await fixture.commit((transaction) =>
      fixture.tasks.reassignAll(transaction, fixture.topic, { from: 'failed', to: 'success' }),
    )
    clock.advance(1_000)
    await expectAge(2_000, ['succeeded'])
  })

  test('does not matter where none is asked for', async () => {
    await fixture.push('a', 'b')
    await fixture.complete(await fixture.poll(1))
    expect(await purge({})).toBe(1)
    expect(names(await fixture.page())).toEqual(['b'])
  })
})
