/** Several schedulers fire one timer once. With one writer, a transaction that fires keeps all others waiting. */
import type { Fired } from '@taskstream/task-scheduler'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { usePeriodicFixture } from './periodic-fixture.ts'
import { part } from './engine.ts'
import type { Part, Session } from './engine.ts'

export const periodicRivals: Part = part(
  'two schedulers',
  (engine) => {
    const fixture = usePeriodicFixture(engine)
    let others: Session
    beforeAll(async () => {
      others = await fixture.fixture.subject.session()
    })
    /** Fires one timer. A scheduler that waits for another fails, and does not wait for ever. */
    const fireOnce = (): Promise<Fired> =>
      fixture.fixture.commit<Fired>(async (transaction) => {
        await fixture.fixture.tasks.limitStatements(transaction, 5_000)
        return fixture.fire(transaction)
      })
    // A test that fails must not leave its transaction open for the next one.
    afterEach(() => others.rollback())

    test.each(['commit', 'rollback'] as const)('do not fire the same timer, and pass over it: %s', async (end) => {
      await fixture.schedule({ id: 'first' })
      await fixture.schedule({ id: 'second' })
      fixture.at('2026-01-05T09:00:00.000Z')
      await others.begin()
      expect(await fixture.fire(others.transaction)).toMatchObject({ outcome: 'submitted', timer: { id: 'first' } })
      expect(await fireOnce()).toMatchObject({ outcome: 'submitted', timer: { id: 'second' } })
      // Another transaction holds the due timer and may still roll back, so there is no final answer yet.
      expect(await fireOnce()).toMatchObject({ outcome: 'busy' })
      await others[end]()
      expect(await fixture.fireAll()).toEqual(end === 'commit' ? [] : ['submitted 09:00'])
      expect(await fixture.occurrences()).toEqual(['09:00', '09:00'])
    })

    test('wait for who is changing a timer, and go by what it has become', async () => {
      await fixture.schedule()
      fixture.at('2026-01-05T09:00:00.000Z')
      await others.begin()
      await fixture.timers.pause(others.transaction, 'report')
      expect(await fireOnce()).toMatchObject({ outcome: 'busy' })
      await others.commit()
      expect(await fireOnce()).toEqual({ outcome: 'idle' })
      expect(await fixture.occurrences()).toEqual([])
    })

    test.each([16, 300])('find a due timer that nobody is at behind due timers that another is at: %i', async (count) => {
      const { tasks, commit } = fixture.fixture
      const theirs = fixture.scoped('other')
      await commit(async (transaction) => {
        for (let index = 0; index < count; index++) await theirs.schedule(transaction, fixture.hourly({ id: `${index}` }))
      })
      fixture.at('2026-01-05T09:30:00.000Z')
      await fixture.schedule()
      fixture.at('2026-01-05T10:00:00.000Z')
      await others.begin()
      expect(await tasks.timers.lockAll(others.transaction, 'other', 'running')).toHaveLength(count)
      expect(await fireOnce()).toMatchObject({ outcome: 'submitted', timer: { id: 'report' } })
      expect(await fireOnce()).toMatchObject({ outcome: 'busy' })
    })
  },
  ({ writers }) => writers > 1,
)
