/** Whatever is dated is dated by the clock that a repository is given. */
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
})
