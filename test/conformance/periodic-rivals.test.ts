/** Schedulers in each other's way. With one writer a transaction that fires keeps all others waiting. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { Session } from '../subject.ts'
import { openPeriodicFixture } from './periodic-fixture.ts'
import type { PeriodicFixture } from './periodic-fixture.ts'

describe.skipIf(!canRun)('two schedulers', () => {
  let it: PeriodicFixture
  let others: Session
  beforeAll(async () => {
    it = await openPeriodicFixture()
    others = await it.fixture.subject.session()
  })
  afterAll(() => it[Symbol.asyncDispose]())
  beforeEach(() => it.reset())

  test.each(['commit', 'rollback'] as const)('do not fire the same timer, and pass over it: %s', async (end) => {
    await it.schedule({ id: 'first' })
    await it.schedule({ id: 'second' })
    it.at('2026-01-05T09:00:00.000Z')
    await others.begin()
    expect(await it.fire(others.transaction)).toMatchObject({ outcome: 'submitted', timer: { id: 'first' } })
    expect(await it.fireOnce()).toMatchObject({ outcome: 'submitted', timer: { id: 'second' } })
    // What is due is in hands; whether it stays there is not known yet.
    expect(await it.fireOnce()).toMatchObject({ outcome: 'busy' })
    await others[end]()
    expect(await it.fireAll()).toEqual(end === 'commit' ? [] : ['submitted 09:00'])
    expect(await it.occurrences()).toEqual(['09:00', '09:00'])
  })

  test('wait for who is changing a timer, and go by what it has become', async () => {
    await it.schedule()
    it.at('2026-01-05T09:00:00.000Z')
    await others.begin()
    await it.timers.pause(others.transaction, 'report')
    expect(await it.fireOnce()).toMatchObject({ outcome: 'busy' })
    await others.commit()
    expect(await it.fireOnce()).toEqual({ outcome: 'idle' })
    expect(await it.occurrences()).toEqual([])
  })
})
