/** A deployment that changes a timer while an occurrence is due loses no occurrence. */
import type { PeriodicTask } from '@taskstream/task-scheduler'
import { sql } from '@taskstream/task-sql'
import { expect, test } from 'vitest'
import { thrownBy } from './fixture.ts'
import { minute, usePeriodicFixture } from './periodic-fixture.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'

export const periodicEdits: Part = part('a timer that is changed while an occurrence is due', (engine) => {
  const fixture = usePeriodicFixture(engine)

  const missed = ['09:00', '10:00', '11:00', '12:00']
  /**
   * Changes an hourly timer a quarter of an hour after it has missed its fourth occurrence. @returns the occurrences that were
   * submitted
   */
  const edit = async (before: Partial<PeriodicTask>, after: Partial<PeriodicTask>): Promise<(string | undefined)[]> => {
    await fixture.schedule(before)
    fixture.at('2026-01-05T12:15:00.000Z')
    expect(await fixture.schedule({ ...before, ...after })).toBe('changed')
    await fixture.fireAll()
    return await fixture.occurrences()
  }

  test.each([
    { maxCount: 9 },
    { end: new Date('2026-01-06T00:00:00Z') },
    { start: new Date('2026-01-05T08:00:00Z') },
    { start: new Date('2026-01-05T09:00:00Z') },
    { jitterMs: 5 * minute },
    { timer: '*:00:00' },
    { timer: 'cron:0 * * * *' },
    { timer: '*:30' },
    { timer: '*:*' },
    { timer: 'daily' },
    { input: 'other' },
  ] as const)('loses nothing that it is to catch up with: $0', async (after) => {
    expect(await edit({ misfire: 'catch-up' }, after)).toEqual(missed)
  })

  test.each([
    [{}, {}, ['09:00']],
    [{}, { timer: 'daily' }, ['09:00']],
    [{ misfire: 'skip', lateMs: 20 * minute }, {}, ['12:00']],
    [{ misfire: 'skip', lateMs: 20 * minute }, { timer: 'daily' }, ['12:00']],
    [{ misfire: 'skip' }, {}, []],
    [{ misfire: 'skip' }, { timer: 'daily' }, []],
    [{ misfire: 'catch-up' }, { misfire: 'once', whileUnfinished: 'push' }, ['09:00']],
    [{ misfire: 'catch-up' }, { misfire: 'once', timer: 'daily' }, ['09:00']],
    [{}, { misfire: 'catch-up' }, missed],
    [{}, { misfire: 'catch-up', timer: 'daily' }, missed],
    [{ misfire: 'catch-up', whileUnfinished: 'skip' }, { timer: 'daily' }, ['09:00']],
    // The permitted lateness counts from the jittered time, with the jitter that the timer had before the change.
    [{ misfire: 'skip', lateMs: 5 * minute, jitterMs: 15 * minute }, { timer: 'daily', jitterMs: 0 }, ['12:00']],
  ] as const)('goes by its policy as it is afterwards: from %o to %o', async (before, after, expected) => {
    expect(await edit({ whileUnfinished: 'push', ...before }, { maxCount: 9, ...after })).toEqual(expected)
  })

  test.each([
    [{ start: new Date('2026-01-05T11:00:00Z') }, '2026-01-05T13:00:00Z', []],
    [{ start: new Date('2026-01-05T11:00:00Z'), timer: 'daily' }, '2026-01-06T00:00:00Z', []],
    [{ end: new Date('2026-01-05T10:30:00Z') }, undefined, ['09:00', '10:00']],
    [{ maxCount: 2 }, undefined, ['09:00', '10:00']],
    [{ maxCount: 2, timer: 'daily' }, undefined, ['09:00', '10:00']],
    [{ paused: true }, undefined, []],
  ] as const)('submits no more than the change allows: %o', async (after, next, expected) => {
    expect(await edit({ misfire: 'catch-up' }, after)).toEqual(expected)
    expect((await fixture.info()).next).toEqual(next === undefined ? undefined : new Date(next))
  })

  test.each([{ misfire: 'catch-up' }, { misfire: 'once' }, { misfire: 'skip' }] as const)(
    'goes on by its new times from now on: $misfire',
    async (policy) => {
      await edit({ ...policy, whileUnfinished: 'push' }, { timer: '*:10' })
      expect(await fixture.info()).toMatchObject({ timer: '*:10', next: new Date('2026-01-05T13:10:00.000Z') })
      fixture.at('2026-01-05T13:10:00.000Z')
      expect(await fixture.fireAll()).toEqual(['submitted 13:10'])
    },
  )

  test('loses nothing at the very moment when it is due', async () => {
    await fixture.schedule()
    fixture.at('2026-01-05T09:00:00.000Z')
    await fixture.schedule({ timer: 'daily' })
    expect(await fixture.occurrences()).toEqual(['09:00'])
  })

  test('submits with the change itself, or not at all, what only its old times had', async () => {
    await fixture.schedule({ misfire: 'catch-up' })
    fixture.at('2026-01-05T10:15:00.000Z')
    const undo = new Error('undo')
    await expect(
      fixture.fixture.commit(async (transaction) => {
        await fixture.timers.schedule(transaction, fixture.hourly({ misfire: 'catch-up', timer: 'daily' }))
        throw undo
      }),
    ).rejects.toBe(undo)
    expect(await fixture.occurrences()).toEqual([])
    await fixture.schedule({ misfire: 'catch-up', timer: 'daily' })
    expect(await fixture.occurrences()).toEqual(['09:00', '10:00'])
    const { sequence } = (await fixture.fixture.page()).at(-1)!
    expect(await fixture.info()).toMatchObject({
      fired: 2,
      last: { sequence, occurrence: new Date('2026-01-05T10:00:00.000Z') },
    })
  })

  test('keeps what waits for its jitter only', async () => {
    await fixture.schedule({ jitterMs: 30 * minute })
    const { due } = await fixture.info()
    expect(due!.getTime()).toBeGreaterThan(Date.parse('2026-01-05T09:00:00Z') + 1)
    fixture.at('2026-01-05T09:00:00.001Z')
    await fixture.schedule({ jitterMs: 30 * minute, maxCount: 3 })
    expect(await fixture.info()).toMatchObject({ next: new Date('2026-01-05T09:00:00.000Z'), due })
    await fixture.schedule({ jitterMs: 0, maxCount: 3 })
    expect(await fixture.fireAll()).toEqual(['submitted 09:00'])
  })

  test('submits what waits for its jitter only, where its new times do not have it', async () => {
    await fixture.schedule({ jitterMs: 30 * minute })
    fixture.at('2026-01-05T09:00:00.001Z')
    expect(await fixture.fireAll()).toEqual([])
    await fixture.schedule({ jitterMs: 30 * minute, timer: 'daily' })
    expect(await fixture.occurrences()).toEqual(['09:00'])
  })

  test('does not overtake its task that has not ended', async () => {
    await fixture.schedule()
    fixture.at('2026-01-05T09:00:00.000Z')
    await fixture.fireAll()
    fixture.at('2026-01-05T10:15:00.000Z')
    await fixture.schedule({ timer: '*:30' })
    expect(await fixture.occurrences()).toEqual(['09:00'])
    expect(await fixture.info()).toMatchObject({ skipped: 1, next: new Date('2026-01-05T10:30:00.000Z') })
  })

  test('refuses other times while more is due than one transaction should submit, and says what to do', async () => {
    await fixture.schedule({ timer: '*:*:0/0.1', misfire: 'catch-up' })
    // The first occurrence was due at 08:59:30.1; this one is the 10 001st.
    fixture.at('2026-01-05T09:16:10.100Z')
    const before = await fixture.info()
    // The transaction commits, so that what was submitted before the refusal would be seen.
    const error = await fixture.fixture.commit((transaction) =>
      thrownBy(() => fixture.timers.schedule(transaction, fixture.hourly({ timer: 'daily', misfire: 'catch-up' }))),
    )
    expect(error).toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument: 'timer' } })
    expect(await fixture.info()).toEqual(before)
    expect(before).toMatchObject({ fired: 0, timer: '*:*:0/0.1' })
    expect(await fixture.fixture.states()).toEqual({})
    expect(await fixture.schedule({ timer: 'daily', misfire: 'catch-up', lateMs: minute })).toBe('changed')
    expect(await fixture.info()).toMatchObject({ fired: 601 })
  })

  test('takes other times however much is due, where its tasks wait for each other: one is submitted', async () => {
    const before = { misfire: 'catch-up', whileUnfinished: 'skip' } as const
    await fixture.schedule({ ...before, timer: '*:*:0/0.1' })
    fixture.at('2026-01-05T09:16:10.100Z')
    expect(await fixture.schedule({ ...before, timer: 'daily' })).toBe('changed')
    expect(await fixture.info()).toMatchObject({ fired: 1, next: new Date('2026-01-06T00:00:00.000Z') })
    expect(await fixture.fixture.states()).toEqual({ ready: 1 })
  })

  test('submits as many as one transaction should, however often it has fired before', async () => {
    await fixture.schedule({ timer: '*:*:0/0.1', misfire: 'catch-up' })
    const { tasks, commit } = fixture.fixture
    const hasFired = tasks.verb(function* ({ dialect }) {
      yield sql`update ${dialect.tables.periodic} set fired = 20000`
    })
    await commit((transaction) => hasFired(transaction) as unknown)
    fixture.at('2026-01-05T09:16:10.000Z')
    expect(await fixture.schedule({ timer: 'daily', misfire: 'catch-up' })).toBe('changed')
    expect(await fixture.info()).toMatchObject({ fired: 30_000 })
  })
})
