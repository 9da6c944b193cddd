/** Timers that are changed while they wait or after they have ended: which occurrence comes next, and which changes are refused. */
import type { PeriodicTask, Reconciliation } from '@taskstream/task-scheduler'
import { sql } from '@taskstream/task-sql'
import { expect, test } from 'vitest'
import { thrownBy } from './fixture.ts'
import { minute, usePeriodicFixture } from './periodic-fixture.ts'
import { part } from './engine.ts'
import type { AnyTransaction, Part } from './engine.ts'

export const periodicChanges: Part = part('a timer that is changed', (engine) => {
  const fixture = usePeriodicFixture(engine)

  const commit = <Result>(work: (transaction: AnyTransaction) => unknown): Promise<Result> =>
    fixture.fixture.commit<Result>((transaction) => work(transaction) as Result)
  const fireAt = (time: string): Promise<string[]> => {
    fixture.at(`2026-01-05T${time}:00.000Z`)
    return fixture.fireAll()
  }
  /** Returns the argument for which a change is refused, after checking that the timer is unchanged. */
  const refusal = async (more: Partial<PeriodicTask>): Promise<unknown> => {
    const before = await fixture.info()
    // The transaction commits, so that what was written before the refusal would be seen.
    const refused = await commit((transaction) => thrownBy(() => fixture.timers.schedule(transaction, fixture.hourly(more))))
    expect(await fixture.info()).toEqual(before)
    return (refused as { data: { argument: string } }).data.argument
  }

  test.each<[Partial<PeriodicTask>, Partial<PeriodicTask>, string]>([
    [{}, { timer: 'daily' }, '2026-01-06T00:00:00Z'],
    [{}, { start: new Date('2026-01-05T10:30:00Z') }, '2026-01-05T11:00:00Z'],
    [{ start: new Date('2026-02-01T00:00:00Z') }, {}, '2026-01-05T09:00:00Z'],
    [{ start: new Date('2026-02-01T00:00:00Z') }, { start: new Date('2026-03-01T00:00:00Z') }, '2026-03-01T00:00:00Z'],
  ])('while it waits goes by its new times: from %o to %o', async (before, after, next) => {
    await fixture.schedule(before)
    expect(await fixture.schedule(after)).toBe('changed')
    expect(await fixture.info()).toMatchObject({ next: new Date(next), due: new Date(next) })
  })

  test('while it waits is due by its new jitter', async () => {
    await fixture.schedule({ jitterMs: 30 * minute })
    expect(await fixture.schedule()).toBe('changed')
    expect(await fixture.info()).toMatchObject({ due: new Date('2026-01-05T09:00:00Z'), jitterMs: 0 })
  })

  test('is refused, and stays as it was, if nothing would be left for it', async () => {
    await fixture.schedule({ whileUnfinished: 'push' })
    await fireAt('09:00')
    await fireAt('10:00')
    expect(await refusal({ end: new Date('2026-01-05T10:30:00Z') })).toBe('timer')
    expect(await refusal({ timer: '2026-01-05 09:30' })).toBe('timer')
    for (const maxCount of [1, 2])
      for (const timer of ['hourly', 'daily']) expect(await refusal({ maxCount, timer })).toBe('maxCount')
    expect(await fixture.schedule({ maxCount: 3 })).toBe('changed')
    await fixture.finish()
    expect(await fireAt('11:00')).toEqual(['submitted 11:00'])
    expect(await fixture.info()).toMatchObject({ status: 'ended', fired: 3 })
  })

  test.each<[Partial<PeriodicTask>, Partial<PeriodicTask>]>([
    [{ maxCount: 1 }, { maxCount: 2 }],
    [{ maxCount: 1 }, {}],
    [{ end: new Date('2026-01-05T09:30:00Z') }, { end: new Date('2026-01-05T12:00:00Z') }],
    [{ timer: '2026-01-05 09:00' }, { timer: 'hourly' }],
  ])('once it has ended begins again when it is to fire again: from %o to %o', async (before, after) => {
    await fixture.schedule({ whileUnfinished: 'push', ...before })
    expect(await fireAt('09:00')).toEqual(['submitted 09:00'])
    expect(await fixture.schedule({ whileUnfinished: 'push', ...before })).toBe('unchanged')
    // This change does not concern when the timer fires, so the timer stays ended.
    expect(await fixture.schedule({ whileUnfinished: 'push', ...before, input: 'x' })).toBe('changed')
    expect(await fixture.info()).toMatchObject({ status: 'ended', input: 'x' })
    expect((await fixture.info()).next).toBeUndefined()
    expect(await fixture.schedule({ whileUnfinished: 'push', ...after })).toBe('changed')
    const info = await fixture.info()
    expect(info).toMatchObject({ status: 'running', next: new Date('2026-01-05T10:00:00Z') })
    expect(info.note).toBeUndefined()
    expect(await fireAt('10:00')).toEqual(['submitted 10:00'])
  })

  test('may be made to fire once', async () => {
    await commit((transaction) => fixture.timers.add(transaction, fixture.hourly({ maxCount: 1 })))
    expect(await fireAt('09:00')).toEqual(['submitted 09:00'])
    expect(await fixture.info()).toMatchObject({ status: 'ended', fired: 1 })
  })

  test('and paused, or resumed by that, waits for nothing, or for what is to come', async () => {
    await fixture.schedule()
    fixture.at('2026-01-05T08:59:40.000Z')
    await fixture.schedule({ paused: true })
    const { next, due, ...paused } = await fixture.info()
    expect([next, due]).toEqual([undefined, undefined])
    expect(paused).toMatchObject({ status: 'paused', changed: fixture.now })
    expect(await fixture.schedule({ paused: true })).toBe('unchanged')
    fixture.at('2026-01-05T09:30:00.000Z')
    await fixture.schedule({ paused: false })
    const ten = new Date('2026-01-05T10:00:00.000Z')
    expect(await fixture.info()).toMatchObject({ status: 'running', next: ten, due: ten, changed: fixture.now })
    expect(await fireAt('10:00')).toEqual(['submitted 10:00'])
  })

  test('by pause and resume tells when', async () => {
    await fixture.schedule()
    for (const verb of ['pause', 'resume', 'pauseAll', 'resumeAll'] as const) {
      fixture.at(new Date(fixture.now.getTime() + 1_000).toISOString())
      await commit((transaction) => fixture.timers[verb](transaction, 'report'))
      expect([verb, (await fixture.info()).changed]).toEqual([verb, fixture.now])
    }
  })

  test('by hand stays the one that its application has declared, and may be declared by another', async () => {
    const declare = (application: string): Promise<Reconciliation> =>
      commit((transaction) => fixture.timers.reconcile(transaction, application, [fixture.hourly()]))
    await fixture.schedule()
    expect((await fixture.info()).application).toBeUndefined()
    expect(await declare('billing')).toMatchObject({ changed: ['report'] })
    expect(await declare('billing')).toMatchObject({ unchanged: ['report'] })
    expect(await fixture.schedule()).toBe('unchanged')
    expect(await fixture.schedule({ input: 'x' })).toBe('changed')
    expect((await fixture.info()).application).toBe('billing')
    expect(await declare('shipping')).toMatchObject({ changed: ['report'] })
    expect((await fixture.info()).application).toBe('shipping')
  })

  test('by a release that writes what this one cannot read can be paused, and removed, all the same', async () => {
    const misread = fixture.fixture.tasks.verb(function* ({ dialect }) {
      yield sql`update ${dialect.tables.periodic} set timer = ${'a grammar of tomorrow'} where id <> ${'well'}`
    })
    for (const id of ['report', 'another', 'well']) await fixture.schedule({ id })
    await commit((transaction) => misread(transaction))
    expect(await commit((transaction) => fixture.timers.pause(transaction, 'report'))).toBe(true)
    expect(await commit((transaction) => fixture.timers.pauseAll(transaction))).toBe(2)
    expect((await fixture.list()).map(({ status }) => status)).toEqual(['paused', 'paused', 'paused'])
    expect((await fixture.list()).map(({ next }) => next)).toEqual([undefined, undefined, undefined])
    await commit((transaction) => fixture.timers.remove(transaction, 'report'))
    expect((await fixture.list()).map(({ id }) => id)).toEqual(['another', 'well'])
  })
})
