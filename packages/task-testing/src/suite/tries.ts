/** Which attempts count as a try: a task that is handed back undone gets its try back. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { testClock } from '../test-clock.ts'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { useFixture } from './fixture.ts'
import { part } from './engine.ts'
import type { Part, Tasks } from './engine.ts'

export const tries: Part = part('a task of two tries', (engine) => {
  const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
  const fixture = useFixture(engine, { clock: clock.now })
  let rival: Tasks
  beforeAll(async () => {
    rival = await fixture.owner()
    clock.advance(60_000)
  })
  beforeEach(async () => {
    await fixture.push({ identifier: 'a', maxTries: 2 })
  })

  const handBack = async (tasks: readonly HeldTask[]): Promise<unknown> =>
    fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, tasks))
  const expire = (): Promise<unknown> =>
    fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 1, then: 'ready' }))
  const retry = async (): Promise<void> => {
    await fixture.complete(await fixture.poll(1), TaskDecision.retry({ afterMs: 0 }))
    await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
  }

  test('is tried twice and no more, however often it was handed back', async () => {
    for (let count = 1; count <= 3; count++) {
      await handBack(await fixture.poll(1))
      expect(await fixture.page()).toMatchObject([{ state: 'ready', attempt: count, tries: 0 }])
    }
    await retry()
    await handBack(await fixture.poll(1))
    expect(await fixture.page()).toMatchObject([{ state: 'ready', attempt: 5, tries: 1 }])
    await retry()
    expect(await fixture.page()).toMatchObject([{ state: 'failed', reason: 'tries', attempt: 6, tries: 2 }])
  })

  test('is tried again after its owner died, however often it was handed back before', async () => {
    for (let count = 1; count <= 3; count++) await handBack(await fixture.poll(1))
    await fixture.poll(1, rival)
    await expire()
    expect(await fixture.page()).toMatchObject([{ state: 'ready', reason: 'lease', attempt: 4, tries: 1 }])
    await fixture.poll(1, rival)
    await expire()
    expect(await fixture.page()).toMatchObject([{ state: 'failed', reason: 'tries', attempt: 5, tries: 2 }])
  })

  test('has both again once it is brought back, and its attempts go on', async () => {
    for (const brought of ['reset', 'redrive'] as const) {
      await retry()
      await retry()
      const { tasks, topic, commit } = fixture
      expect(await fixture.states()).toEqual({ failed: 1 })
      await commit<unknown>((transaction) =>
        brought === 'reset'
          ? tasks.recreate(transaction, topic, 'reset', { state: 'failed' })
          : tasks.redrive(transaction, topic),
      )
      expect(await fixture.page()).toMatchObject([{ state: 'ready', attempt: brought === 'reset' ? 2 : 4, tries: 0 }])
    }
  })

  test('is put off any number of times, and still has both', async () => {
    for (let count = 1; count <= 3; count++) {
      await fixture.complete(await fixture.poll(1), TaskDecision.snooze({ afterMs: 500 }, 'busy').because('timeout'))
      const due = new Date(clock.now().getTime() + 500)
      expect(await fixture.page()).toMatchObject([
        { state: 'suspended', due, attempt: count, tries: 0, output: 'busy', reason: 'timeout' },
      ])
      clock.advance(500)
      await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
    }
    await retry()
    await fixture.complete(await fixture.poll(1), TaskDecision.snooze({ afterMs: 0 }))
    expect(await fixture.page()).toMatchObject([{ state: 'suspended', attempt: 5, tries: 1 }])
  })

  test('uses a try up or not as each decision of a batch says', async () => {
    await fixture.push(...['b', 'c', 'd'].map((identifier) => ({ identifier, maxTries: 1 })), 'e')
    const held = await fixture.poll()
    const decisions = ['snooze', 'retry', 'snooze', 'success', 'snooze'] as const
    const decide = (name: (typeof decisions)[number]): TaskDecision =>
      name === 'success' ? TaskDecision.success() : TaskDecision[name]({ afterMs: 5 })
    await fixture.commit((transaction) =>
      fixture.tasks.complete(transaction, fixture.topic, new Map(held.map((task, index) => [task, decide(decisions[index]!)]))),
    )
    const due = new Date(clock.now().getTime() + 5)
    const put = { state: 'suspended', due, attempt: 1, tries: 0 }
    const page = await fixture.page()
    expect(page).toMatchObject([put, { state: 'failed', reason: 'tries', tries: 1 }, put, { state: 'succeeded', tries: 1 }, put])
    expect(page.map(({ reason }) => reason)).toEqual([undefined, 'tries', undefined, undefined, undefined])
  })

  test('fails, filters or succeeds at its last try as decided: only a retry is refused', async () => {
    for (const result of ['success', 'failure', 'filter', 'suspension'] as const) {
      await fixture.nextTopic()
      await fixture.push({ identifier: 'a', maxTries: 1 }, { identifier: 'b', maxTries: 1 })
      const [a, b] = await fixture.poll(2)
      const decisions = new Map([
        [a!, TaskDecision[result]()],
        [b!, TaskDecision.retry({ afterMs: 0 })],
      ])
      await fixture.commit((transaction) => fixture.tasks.complete(transaction, fixture.topic, decisions))
      const [first, second] = await fixture.page()
      expect([first?.state, first?.reason, first?.due]).toEqual([TaskDecision[result]().state, undefined, undefined])
      expect([second?.state, second?.reason, second?.due]).toEqual(['failed', 'tries', undefined])
    }
  })
})
