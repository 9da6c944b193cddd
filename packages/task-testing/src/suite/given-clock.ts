/** Every instant that a repository stores comes from the clock that it was given. */
import { TaskDecision } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { part } from './engine.ts'
import type { Part } from './engine.ts'
import { openFixture } from './fixture.ts'

export const givenClock: Part = part('a clock that is given', (engine) => {
  test('dates everything that is written', async () => {
    let now = Date.UTC(2031, 4, 6, 7, 8, 9, 123)
    await using fixture = await openFixture(engine, () => new Date(now))
    await fixture.push('a', { identifier: 'b', delayMs: 5 })
    const created = new Date(now)
    now += 1_001
    const [task] = await fixture.poll(1)
    const started = new Date(now)
    now += 1_001
    await fixture.commit((transaction) =>
      fixture.tasks.complete(transaction, fixture.topic, new Map([[task!, TaskDecision.retry({ afterMs: 7 })]])),
    )
    expect(await fixture.page()).toMatchObject([
      { created, started, completed: new Date(now), due: new Date(now + 7) },
      { created, due: new Date(created.getTime() + 5) },
    ])
  })

  test('dates each of several that are pushed or polled one by one', async () => {
    let now = Date.UTC(2031, 4, 6)
    await using fixture = await openFixture(engine, () => new Date(now))
    const created: Date[] = []
    for (const identifier of ['a', 'b', 'c']) {
      created.push(new Date((now += 1_001)))
      await fixture.push(identifier)
    }
    expect((await fixture.page()).map((task) => task.created)).toEqual(created)
    const started: Date[] = []
    for (let polled = 0; polled < 3; polled++) {
      started.push(new Date((now += 1_001)))
      await fixture.complete(await fixture.poll(1))
    }
    expect((await fixture.page()).map((task) => task.started)).toEqual(started)
  })
})
