/** Owners that fall silent lose their tasks, and owners that send heartbeats keep them. */
import { TaskDecision } from '@taskstream/task-api'
import type { Expiry, HeldTask, TaskOwner } from '@taskstream/task-api'
import { beforeEach, expect, test } from 'vitest'
import { codeOf, names, useFixture } from './fixture.ts'
import { part } from './engine.ts'
import type { Part, Tasks } from './engine.ts'

const start = Date.UTC(2026, 0, 1)

export const owner: Part = part('owners', (engine) => {
  let now = start
  const fixture = useFixture(engine, { clock: () => new Date(now) })
  beforeEach(async () => {
    // The owners of the previous test die here, so their tasks do not disturb the next test.
    await pass(1_000_000)
    await expire()
  })

  const beat = (tasks: Tasks): Promise<boolean> => fixture.commit((transaction) => tasks.heartbeat(transaction))
  const expire = (options: Partial<Parameters<Tasks['expire']>[1]> = {}): Promise<Expiry> =>
    fixture.commit<Expiry>((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 1_000, ...options }))
  /** Lets time pass during which only the repository under test sends a heartbeat. */
  const pass = async (ms: number): Promise<void> => {
    now += ms
    await beat(fixture.tasks)
  }

  test('register once, and each repository is an owner of its own even under one name', async () => {
    const [one, two] = [fixture.subject.tasks({ owner: 'shop' }), fixture.subject.tasks({ owner: 'shop' })]
    expect(one.owner).toMatch(/^shop:/)
    expect(one.owner).not.toBe(two.owner)
    expect(await fixture.commit((transaction) => one.register(transaction))).toBe(true)
    expect(await fixture.commit((transaction) => one.register(transaction))).toBe(false)
  })

  test('are seen by others for as long as they beat', async () => {
    const other = await fixture.owner()
    const seen = (): Promise<TaskOwner[]> =>
      fixture.commit<TaskOwner[]>((transaction) => fixture.tasks.owners(transaction, 1_000))
    await fixture.owner()
    expect(await seen()).toContainEqual({ owner: other.owner, heartbeat: new Date(now) })
    const names = (await seen()).map(({ owner }) => owner)
    expect(names).toEqual(names.toSorted())
    expect(names.length).toBeGreaterThan(1)
    expect((await seen()).map(({ owner }) => owner)).not.toContain(fixture.tasks.owner)
    now += 1_500
    expect((await seen()).map(({ owner }) => owner)).not.toContain(other.owner)
    await beat(other)
    expect((await seen()).map(({ owner }) => owner)).toContain(other.owner)
  })

  test('notice once that the database was put back since their last expiry, and not that time has passed', async () => {
    /** Leaves the heartbeat that a backup would have brought. */
    const putBack = async (ms: number): Promise<void> => {
      now -= ms
      expect(await beat(fixture.tasks)).toBe(false)
      now += ms
    }
    expect(await beat(fixture.tasks)).toBe(false)
    now += 5_000
    await expire()
    expect(await beat(fixture.tasks)).toBe(false)
    await expire()
    await putBack(60_000)
    expect(await beat(fixture.tasks)).toBe(true)
    expect(await beat(fixture.tasks)).toBe(false)
    await expire()
    await putBack(60_000)
    // An expiry that comes first leaves it to the heartbeat.
    await expire()
    expect(await beat(fixture.tasks)).toBe(true)
  })

  test('that were never registered, or have left, cannot beat', async () => {
    const other = fixture.subject.tasks()
    expect(await codeOf(() => beat(other))).toBe('OWNER_UNKNOWN')
    await fixture.commit((transaction) => other.register(transaction))
    expect(await fixture.commit((transaction) => other.unregister(transaction))).toBe(true)
    expect(await fixture.commit((transaction) => other.unregister(transaction))).toBe(false)
    expect(await codeOf(() => beat(other))).toBe('OWNER_UNKNOWN')
  })

  test('that fall silent lose their tasks, which are expired and keep their owner', async () => {
    const other = await fixture.owner()
    await fixture.push('a', 'b')
    await fixture.poll(1, other)
    const [mine] = await fixture.poll(1)
    expect(await expire()).toMatchObject({ expired: 0 })
    await pass(2_000)
    expect(await expire()).toEqual({ expired: 1, ready: 0, failed: 0, topics: [] })
    expect(await fixture.page()).toMatchObject([
      { identifier: 'a', state: 'expired', owner: other.owner, reason: 'lease' },
      { identifier: 'b', state: 'active', owner: fixture.tasks.owner },
    ])
    expect(mine?.identifier).toBe('b')
  })

  test('that die lose what they took after a poll that was rolled back, and far beyond what they took before', async () => {
    const other = await fixture.owner()
    await fixture.push('a')
    const session = await fixture.subject.session()
    await session.begin()
    expect(await other.poll(session.transaction, fixture.topic, { size: 1 })).toHaveLength(1)
    await session.rollback()
    // The process has noted a claim that was rolled back, so the database does not have the note.
    expect(await fixture.poll(1)).toHaveLength(1)
    expect(await fixture.poll(1, other)).toHaveLength(0)
    await fixture.push('b')
    expect(await fixture.poll(1, other)).toHaveLength(1)
    expect(await fixture.poll(1, other)).toHaveLength(0)
    const many = 9
    for (let portion = 0; portion < many; portion++)
      await fixture.push(...Array.from({ length: 1_000 }, (_, index) => `i${index}`))
    expect(await fixture.poll(10_000, other)).toHaveLength(many * 1_000)
    await pass(2_000)
    let expired = 0
    for (let more = true; more;) {
      const portion = (await expire({ limit: 5_000 })).expired
      expired += portion
      more = portion > 0
    }
    expect(expired).toBe(1 + many * 1_000)
  })

  test('that died before the clock was set back are found dead in the same time, and those that live stay alive', async () => {
    const [dead, living] = [await fixture.owner(), await fixture.owner()]
    await fixture.push('a', 'b')
    await fixture.poll(1, dead)
    await fixture.poll(1, living)
    await pass(-3 * 3_600_000)
    // An owner that has not sent a heartbeat since the clock was set back is given the full time once more.
    expect(await expire({ then: 'ready' })).toMatchObject({ ready: 0 })
    now += 600
    await beat(living)
    await pass(600)
    expect(await expire({ then: 'ready' })).toMatchObject({ ready: 1 })
    expect(await fixture.page()).toMatchObject([
      { identifier: 'a', state: 'ready', reason: 'lease' },
      { identifier: 'b', state: 'active', owner: living.owner },
    ])
  })

  test('that beat in time keep their tasks, and nobody expires its own', async () => {
    const other = await fixture.owner()
    await fixture.push('a', 'b')
    await fixture.poll(1, other)
    await fixture.poll(1)
    now += 10_000
    await beat(other)
    expect(await expire({ then: 'ready' })).toMatchObject({ ready: 0 })
    expect(await fixture.states()).toEqual({ active: 2 })
  })

  test('that die give tasks back while tries are left, and fail them otherwise', async () => {
    const other = await fixture.owner()
    await fixture.push({ identifier: 'a', maxTries: 1 }, { identifier: 'b', maxTries: 2 }, 'c')
    const [, b] = await fixture.poll(3, other)
    await pass(2_000)
    expect(await expire({ then: 'ready' })).toEqual({ expired: 0, ready: 2, failed: 1, topics: [fixture.topic] })
    expect(await fixture.page()).toMatchObject([
      { identifier: 'a', state: 'failed', reason: 'tries' },
      { identifier: 'b', state: 'ready', reason: 'lease' },
      { identifier: 'c', state: 'ready' },
    ])
    const again = await fixture.poll()
    expect(again.map(({ identifier, attempt }) => [identifier, attempt])).toEqual([
      ['b', 2],
      ['c', 2],
    ])
    // The dead owner wakes up, and its completion is refused.
    const late = await fixture.commit((transaction) =>
      other.complete(transaction, fixture.topic, new Map([[b!, TaskDecision.success()]])),
    )
    expect(late).toEqual({ completed: [], lost: [b] })
  })

  test('that have left count as dead at once', async () => {
    const other = await fixture.owner()
    await fixture.push('a')
    await fixture.poll(1, other)
    await fixture.commit((transaction) => other.unregister(transaction))
    expect(await expire({ olderThanMs: 86_400_000, then: 'ready' })).toMatchObject({ ready: 1 })
  })

  test('of a former self are dead at once where the new one is exclusive', async () => {
    const former = await fixture.owner('sole')
    await fixture.push('a')
    await fixture.poll(1, former)
    const present = fixture.subject.tasks({ owner: 'sole', clock: () => new Date(now) })
    await fixture.commit((transaction) => present.register(transaction, { exclusive: true }))
    expect(
      await fixture.commit((transaction) => present.expire(transaction, { olderThanMs: 86_400_000, then: 'ready' })),
    ).toMatchObject({ ready: 1 })
  })

  test('lose tasks that came back to them as well, in every topic, so many at a time', async () => {
    const other = await fixture.owner()
    await fixture.push('a', 'b')
    const batch = await fixture.poll(2, other)
    await fixture.commit((transaction) => other.handBack(transaction, fixture.topic, batch))
    expect(names(await fixture.poll(2, other))).toEqual(['a', 'b'])
    await fixture.nextTopic()
    await fixture.push('c')
    const [c] = await fixture.commit<HeldTask[]>((transaction) => other.poll(transaction, fixture.topic))
    expect(c?.identifier).toBe('c')
    await pass(2_000)
    expect(await expire({ then: 'ready', limit: 2 })).toMatchObject({ ready: 2 })
    expect(await expire({ then: 'ready', limit: 2 })).toMatchObject({ ready: 1 })
    expect(await expire({ then: 'ready', limit: 2 })).toMatchObject({ ready: 0 })
  })

  test('that die give tasks of several topics back, which are told in the order of their names', async () => {
    const other = await fixture.owner()
    for (const topic of ['m of the dead', 'a of the dead', 'z of the dead']) {
      await fixture.commit((transaction) => fixture.tasks.initialize(transaction, topic))
      await fixture.commit((transaction) => fixture.tasks.push(transaction, topic, ['a', 'b']))
      await fixture.commit((transaction) => other.poll(transaction, topic, { size: 2 }))
    }
    await pass(2_000)
    const topics = ['a of the dead', 'm of the dead', 'z of the dead']
    expect(await expire({ then: 'ready' })).toEqual({ expired: 0, ready: 6, failed: 0, topics })
  })

  test('whose tasks were taken from them leave no reason on those once others have polled or completed them', async () => {
    const other = await fixture.owner()
    for (const condition of ['none', 'singular-by-identifier'] as const) {
      for (const hold of ['lease', 'transaction'] as const) {
        await fixture.nextTopic({ condition, ...(hold === 'transaction' && { record: 'states' }) })
        await fixture.push('a')
        await fixture.commit((transaction) => other.poll(transaction, fixture.topic, { size: 1 }))
        await pass(2_000)
        expect(await expire({ then: 'ready' })).toMatchObject({ ready: 1 })
        expect(await fixture.page()).toMatchObject([{ state: 'ready', reason: 'lease' }])
        await fixture.commit(async (transaction) => {
          const polled = await fixture.tasks.poll(transaction, fixture.topic, { size: 1, hold })
          if (hold === 'lease') {
            const [active] = await fixture.tasks.page(transaction, fixture.topic)
            expect([active?.state, active?.reason]).toEqual(['active', undefined])
          }
          await fixture.tasks.complete(transaction, fixture.topic, new Map(polled.map((task) => [task, TaskDecision.success()])))
        })
        const [done] = await fixture.page()
        expect([done?.state, done?.reason]).toEqual(['succeeded', undefined])
        await beat(other)
      }
    }
  })
})
