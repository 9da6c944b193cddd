/** The millisecond from which an owner is dead, is not seen, and is forgotten; only the owner's own row decides. */
import type { TaskOwner } from '@taskstream/task-api'
import { testClock } from '../test-clock.ts'
import { beforeEach, expect, test } from 'vitest'
import { codeOf, useFixture } from './fixture.ts'
import { part, testWhere } from './engine.ts'
import type { Part, Tasks } from './engine.ts'

export const ownerBounds: Part = part('an owner that beat a second ago', (engine) => {
  const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
  const fixture = useFixture(engine, { clock: clock.now })
  let rival: Tasks
  beforeEach(async () => {
    rival = await fixture.owner()
    await fixture.push('a')
    await fixture.poll(1, rival)
    clock.advance(1_000)
  })
  const seen = async (withinMs: number): Promise<boolean> => {
    const owners = await fixture.commit<TaskOwner[]>((transaction) => fixture.tasks.owners(transaction, withinMs))
    return owners.some(({ owner }) => owner === rival.owner)
  }
  const expire = (olderThanMs: number): Promise<unknown> =>
    fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs }))
  const purge = (olderThanMs: number): Promise<number> =>
    fixture.commit<number>((transaction) => fixture.tasks.purgeOwners(transaction, olderThanMs))

  test('lives while a second may pass, and is dead where less may', async () => {
    await expire(1_000)
    expect(await fixture.states()).toEqual({ active: 1 })
    await expire(999)
    expect(await fixture.states()).toEqual({ expired: 1 })
  })

  test('is seen by who looks a second back, and not by who looks less far', async () => {
    expect([await seen(1_000), await seen(999)]).toEqual([true, false])
  })

  test('is forgotten once it has been silent for longer than that, and not before', async () => {
    // The owners of other tests have been silent for longer.
    await purge(1_000)
    expect(await seen(10_000)).toBe(true)
    expect(await purge(999)).toBe(1)
    expect(await seen(10_000)).toBe(false)
    expect(await purge(999)).toBe(0)
  })

  test('lives on by its own beat, and by that of nobody else', async () => {
    const other = await fixture.owner()
    await fixture.commit((transaction) => fixture.tasks.heartbeat(transaction))
    await fixture.commit((transaction) => other.heartbeat(transaction))
    expect(await seen(999)).toBe(false)
    await fixture.commit((transaction) => rival.heartbeat(transaction))
    expect(await seen(0)).toBe(true)
  })

  test('stays when others leave, or come exclusively under a name that is not its own', async () => {
    const other = await fixture.owner()
    expect(await fixture.commit((transaction) => other.unregister(transaction))).toBe(true)
    const sole = fixture.subject.tasks({ owner: 'sole', clock: clock.now })
    await fixture.commit((transaction) => sole.register(transaction, { exclusive: true }))
    expect(await seen(1_000)).toBe(true)
    const again = fixture.subject.tasks({ owner: 'sole', clock: clock.now })
    await fixture.commit((transaction) => again.register(transaction, { exclusive: true }))
    expect(await codeOf(() => fixture.commit((transaction) => sole.heartbeat(transaction)))).toBe('OWNER_UNKNOWN')
    expect(await seen(1_000)).toBe(true)
  })

  // This needs a repository made with the test's options. Where `adapts` is false, the engine makes its repositories by itself.
  testWhere(engine.adapts !== false)('is spoken for by its whole name, and by nobody who has a name too', async () => {
    const { owner } = rival
    const spokesman = fixture.subject.tasks({ speaksFor: owner, clock: clock.now })
    expect(spokesman.owner).toBe(owner)
    await fixture.commit((transaction) => spokesman.heartbeat(transaction))
    expect(await seen(0)).toBe(true)
    const speakFor = (options: object): Promise<unknown> => codeOf(() => fixture.subject.tasks(options))
    expect(await speakFor({ speaksFor: 'nobody' })).toBe('ARGUMENT_INVALID')
    expect(await speakFor({ speaksFor: owner, owner: 'me' })).toBe('ARGUMENT_INVALID')
  })

  test('never forgets itself, however silent it was', async () => {
    clock.advance(1_000)
    await fixture.commit((transaction) => rival.purgeOwners(transaction, 0))
    expect(await seen(10_000)).toBe(true)
    // An owner does not expire its own tasks either.
    await fixture.commit((transaction) => rival.expire(transaction, { olderThanMs: 0 }))
    expect(await fixture.states()).toEqual({ active: 1 })
    await fixture.commit((transaction) => fixture.tasks.register(transaction))
  })

  test('whose clock is ahead lives as long as one whose clock is right, and no longer', async () => {
    clock.advance(10_000)
    await fixture.commit((transaction) => rival.heartbeat(transaction))
    clock.set(new Date(clock.now().getTime() - 500))
    // A heartbeat that is ahead by less than the permitted silence does not count as ahead.
    await expire(500)
    clock.advance(1_000)
    expect([await seen(500), await seen(499)]).toEqual([true, false])
    clock.set(new Date(clock.now().getTime() - 5_000))
    const others = await fixture.owner()
    clock.advance(100)
    await expire(200)
    clock.advance(100)
    const told = await fixture.commit<TaskOwner[]>((transaction) => fixture.tasks.owners(transaction, 10_000))
    const beats = new Map(told.map(({ owner, heartbeat }) => [owner, clock.now().getTime() - heartbeat.getTime()]))
    expect([beats.get(rival.owner), beats.get(others.owner)]).toEqual([100, 200])
  })
})
