import { TaskDecision } from '@taskstream/task-api'
import type { Expiry, HeldTask, TaskOwner } from '@taskstream/task-api'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { Tasks } from '../subject.ts'
import { codeOf, names, openFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

const start = Date.UTC(2026, 0, 1)

describe.skipIf(!canRun)('owners', () => {
  let it: Fixture
  let now = start
  beforeAll(async () => void (it = await openFixture(() => new Date(now))))
  afterAll(() => it[Symbol.asyncDispose]())
  beforeEach(async () => {
    await it.nextTopic()
    // The owners of the test before are dead, and their tasks are out of the way.
    await pass(1_000_000)
    await expire()
  })

  const beat = (tasks: Tasks): Promise<void> => it.commit((transaction) => tasks.heartbeat(transaction))
  const expire = (options: Partial<Parameters<Tasks['expire']>[1]> = {}): Promise<Expiry> =>
    it.commit<Expiry>((transaction) => it.tasks.expire(transaction, { olderThanMs: 1_000, ...options }))
  /** Lets time pass, in which only the repository under test gives signs of life. */
  const pass = async (ms: number): Promise<void> => {
    now += ms
    await beat(it.tasks)
  }

  test('register once, and each repository is an owner of its own even under one name', async () => {
    const [one, two] = [it.subject.tasks({ owner: 'shop' }), it.subject.tasks({ owner: 'shop' })]
    expect(one.owner).toMatch(/^shop:/)
    expect(one.owner).not.toBe(two.owner)
    expect(await it.commit((transaction) => one.register(transaction))).toBe(true)
    expect(await it.commit((transaction) => one.register(transaction))).toBe(false)
  })

  test('are seen by others for as long as they beat', async () => {
    const other = await it.owner()
    const seen = (): Promise<TaskOwner[]> => it.commit<TaskOwner[]>((transaction) => it.tasks.owners(transaction, 1_000))
    expect(await seen()).toContainEqual({ owner: other.owner, heartbeat: new Date(now) })
    expect((await seen()).map(({ owner }) => owner)).not.toContain(it.tasks.owner)
    now += 1_500
    expect((await seen()).map(({ owner }) => owner)).not.toContain(other.owner)
    await beat(other)
    expect((await seen()).map(({ owner }) => owner)).toContain(other.owner)
  })

  test('that were never registered, or have left, cannot beat', async () => {
    const other = it.subject.tasks()
    expect(await codeOf(() => beat(other))).toBe('OWNER_UNKNOWN')
    await it.commit((transaction) => other.register(transaction))
    expect(await it.commit((transaction) => other.unregister(transaction))).toBe(true)
    expect(await it.commit((transaction) => other.unregister(transaction))).toBe(false)
    expect(await codeOf(() => beat(other))).toBe('OWNER_UNKNOWN')
  })

  test('that fall silent lose their tasks, which are expired and keep their owner', async () => {
    const other = await it.owner()
    await it.push('a', 'b')
    await it.poll(1, other)
    const [mine] = await it.poll(1)
    expect(await expire()).toMatchObject({ expired: 0 })
    await pass(2_000)
    expect(await expire()).toEqual({ expired: 1, ready: 0, failed: 0, topics: [] })
    expect(await it.page()).toMatchObject([
      { identifier: 'a', state: 'expired', owner: other.owner, reason: 'lease' },
      { identifier: 'b', state: 'active', owner: it.tasks.owner },
    ])
    expect(mine?.identifier).toBe('b')
  })

  test('that die lose what they took after a poll that was rolled back, and far beyond what they took before', async () => {
    const other = await it.owner()
    await it.push('a')
    const session = await it.subject.session()
    await session.begin()
    expect(await other.poll(session.transaction, it.topic, { size: 1 })).toHaveLength(1)
    await session.rollback()
    // What the process has learned by a poll that was rolled back, the database knows nothing of.
    expect(await it.poll(1)).toHaveLength(1)
    expect(await it.poll(1, other)).toHaveLength(0)
    await it.push('b')
    expect(await it.poll(1, other)).toHaveLength(1)
    expect(await it.poll(1, other)).toHaveLength(0)
    const many = 9
    for (let portion = 0; portion < many; portion++) await it.push(...Array.from({ length: 1_000 }, (_, index) => `i${index}`))
    expect(await it.poll(10_000, other)).toHaveLength(many * 1_000)
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
    const [dead, living] = [await it.owner(), await it.owner()]
    await it.push('a', 'b')
    await it.poll(1, dead)
    await it.poll(1, living)
    await pass(-3 * 3_600_000)
    // Who has not beaten since is given the benefit of the doubt, once.
    expect(await expire({ then: 'ready' })).toMatchObject({ ready: 0 })
    now += 600
    await beat(living)
    await pass(600)
    expect(await expire({ then: 'ready' })).toMatchObject({ ready: 1 })
    expect(await it.page()).toMatchObject([
      { identifier: 'a', state: 'ready', reason: 'lease' },
      { identifier: 'b', state: 'active', owner: living.owner },
    ])
  })

  test('that beat in time keep their tasks, and nobody expires its own', async () => {
    const other = await it.owner()
    await it.push('a', 'b')
    await it.poll(1, other)
    await it.poll(1)
    now += 10_000
    await beat(other)
    expect(await expire({ then: 'ready' })).toMatchObject({ ready: 0 })
    expect(await it.states()).toEqual({ active: 2 })
  })

  test('that die give tasks back while tries are left, and fail them otherwise', async () => {
    const other = await it.owner()
    await it.push({ identifier: 'a', maxTries: 1 }, { identifier: 'b', maxTries: 2 }, 'c')
    const [, b] = await it.poll(3, other)
    await pass(2_000)
    expect(await expire({ then: 'ready' })).toEqual({ expired: 0, ready: 2, failed: 1, topics: [it.topic] })
    expect(await it.page()).toMatchObject([
      { identifier: 'a', state: 'failed', reason: 'tries' },
      { identifier: 'b', state: 'ready', reason: 'lease' },
      { identifier: 'c', state: 'ready' },
    ])
    const again = await it.poll()
    expect(again.map(({ identifier, attempt }) => [identifier, attempt])).toEqual([
      ['b', 2],
      ['c', 2],
    ])
    // The dead owner wakes up, and is refused.
    const late = await it.commit((transaction) => other.complete(transaction, it.topic, new Map([[b!, TaskDecision.success()]])))
    expect(late).toEqual({ completed: [], lost: [b] })
  })

  test('that have left count as dead at once', async () => {
    const other = await it.owner()
    await it.push('a')
    await it.poll(1, other)
    await it.commit((transaction) => other.unregister(transaction))
    expect(await expire({ olderThanMs: 86_400_000, then: 'ready' })).toMatchObject({ ready: 1 })
  })

  test('of a former self are dead at once where the new one is exclusive', async () => {
    const former = await it.owner('sole')
    await it.push('a')
    await it.poll(1, former)
    const present = it.subject.tasks({ owner: 'sole', clock: () => new Date(now) })
    await it.commit((transaction) => present.register(transaction, { exclusive: true }))
    expect(
      await it.commit((transaction) => present.expire(transaction, { olderThanMs: 86_400_000, then: 'ready' })),
    ).toMatchObject({ ready: 1 })
  })

  test('lose tasks that came back to them as well, in every topic, so many at a time', async () => {
    const other = await it.owner()
    await it.push('a', 'b')
    const batch = await it.poll(2, other)
    await it.commit((transaction) => other.handBack(transaction, it.topic, batch))
    expect(names(await it.poll(2, other))).toEqual(['a', 'b'])
    await it.nextTopic()
    await it.push('c')
    const [c] = await it.commit<HeldTask[]>((transaction) => other.poll(transaction, it.topic))
    expect(c?.identifier).toBe('c')
    await pass(2_000)
    expect(await expire({ then: 'ready', limit: 2 })).toMatchObject({ ready: 2 })
    expect(await expire({ then: 'ready', limit: 2 })).toMatchObject({ ready: 1 })
    expect(await expire({ then: 'ready', limit: 2 })).toMatchObject({ ready: 0 })
  })

  test('whose tasks were taken from them leave no reason on those once others have polled or completed them', async () => {
    const other = await it.owner()
    for (const condition of ['none', 'singular-by-identifier'] as const) {
      for (const hold of ['lease', 'transaction'] as const) {
        await it.nextTopic({ condition })
        await it.push('a')
        await it.commit((transaction) => other.poll(transaction, it.topic, { size: 1 }))
        await pass(2_000)
        expect(await expire({ then: 'ready' })).toMatchObject({ ready: 1 })
        expect(await it.page()).toMatchObject([{ state: 'ready', reason: 'lease' }])
        await it.commit(async (transaction) => {
          const polled = await it.tasks.poll(transaction, it.topic, { size: 1, hold })
          if (hold === 'lease') {
            const [active] = await it.tasks.page(transaction, it.topic)
            expect([active?.state, active?.reason]).toEqual(['active', undefined])
          }
          await it.tasks.complete(transaction, it.topic, new Map(polled.map((task) => [task, TaskDecision.success()])))
        })
        const [done] = await it.page()
        expect([done?.state, done?.reason]).toEqual(['succeeded', undefined])
        await beat(other)
      }
    }
  })
})
