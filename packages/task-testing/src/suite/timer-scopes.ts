/** A verb changes and lists timers of its own scope only, even where another scope has the same id, name and application. */
import type { PeriodicTaskInfo, Reconciliation } from '@taskstream/task-scheduler'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { usePeriodicFixture } from './periodic-fixture.ts'
import type { PeriodicFixture, Timers } from './periodic-fixture.ts'
import { part } from './engine.ts'
import type { AnyTransaction, Part } from './engine.ts'

const declared = { name: 'close', input: 'x' } as const

export const timerScopes: Part = part("a verb of one scope leaves another's timers as they are", (engine) => {
  const fixture = usePeriodicFixture(engine)
  let mine: Timers
  let hers: Timers
  beforeAll(async () => {
    mine = fixture.scoped('mine')
    hers = fixture.scoped('hers')
  })
  beforeEach(async () => {
    for (const timers of [mine, hers])
      await commit((transaction) =>
        timers.reconcile(
          transaction,
          'billing',
          ['a', 'b'].map((id) => fixture.hourly({ ...declared, id })),
        ),
      )
  })

  const commit = <Result>(work: (transaction: AnyTransaction) => unknown): Promise<Result> =>
    fixture.fixture.commit<Result>((transaction) => work(transaction) as Result)
  const all = (timers: Timers): Promise<PeriodicTaskInfo[]> => commit((transaction) => timers.list(transaction))
  const hourly = (more: object): ReturnType<PeriodicFixture['hourly']> => fixture.hourly({ ...declared, ...more })

  const verbs: Readonly<Record<string, (transaction: AnyTransaction) => unknown>> = {
    'schedule, of another time': (transaction) => mine.schedule(transaction, hourly({ id: 'a', timer: 'daily' })),
    'schedule, of another input': (transaction) => mine.schedule(transaction, hourly({ id: 'a', input: 'y' })),
    pause: (transaction) => mine.pause(transaction, 'a'),
    pauseAll: (transaction) => mine.pauseAll(transaction),
    remove: (transaction) => mine.remove(transaction, 'a'),
    runNow: (transaction) => mine.runNow(transaction, 'a'),
    reconcile: (transaction) => mine.reconcile(transaction, 'billing', [hourly({ id: 'a', input: 'y' })]),
    'reconcile, with remove': (transaction) => mine.reconcile(transaction, 'billing', [], { undeclared: 'remove' }),
  }

  test.each(Object.keys(verbs))('%s', async (name) => {
    fixture.at('2026-01-05T08:59:40.000Z')
    const before = [await all(mine), await all(hers)]
    await commit(verbs[name]!)
    const after = [await all(mine), await all(hers)]
    expect(after[0]).not.toEqual(before[0])
    expect(after[1]).toEqual(before[1])
  })

  test('resume and resumeAll', async () => {
    for (const timers of [mine, hers]) await commit((transaction) => timers.pauseAll(transaction))
    const before = await all(hers)
    fixture.at('2026-01-05T08:59:40.000Z')
    expect(await commit((transaction) => mine.resume(transaction, 'a'))).toBe(true)
    expect(await commit((transaction) => mine.resumeAll(transaction))).toBe(1)
    expect(await all(hers)).toEqual(before)
  })

  test('an occurrence that is due', async () => {
    await commit((transaction) => mine.pauseAll(transaction))
    const before = await all(mine)
    fixture.at('2026-01-05T09:00:00.000Z')
    expect(await fixture.fireAll()).toEqual(['submitted 09:00', 'submitted 09:00'])
    expect(await all(mine)).toEqual(before)
    expect((await all(hers)).map(({ fired }) => fired)).toEqual([1, 1])
  })

  test('what is undeclared is told of the own scope, and of the own application', async () => {
    await commit((transaction) => hers.schedule(transaction, hourly({ id: 'only hers' })))
    await commit((transaction) => hers.reconcile(transaction, 'billing', [hourly({ id: 'declared by hers' })]))
    await commit((transaction) => mine.reconcile(transaction, 'shipping', [hourly({ id: 'shipped' })]))
    const told = await commit<Reconciliation>((transaction) =>
      mine.reconcile(transaction, 'billing', [hourly({ id: 'a' })], { undeclared: 'remove' }),
    )
    expect(told).toEqual({ added: [], changed: [], unchanged: ['a'], undeclared: ['b'] })
    expect((await all(mine)).map(({ id }) => id)).toEqual(['a', 'shipped'])
    expect((await all(hers)).map(({ id }) => id)).toEqual(['a', 'b', 'declared by hers', 'only hers'])
  })
})
