/** Which timers a filter finds, and how a missing topic or timer and an invalid reconciliation are refused. */
import type { PeriodicTaskInfo } from '@taskstream/task-scheduler'
import { expect, test } from 'vitest'
import { usePeriodicFixture } from './periodic-fixture.ts'
import type { Timers } from './periodic-fixture.ts'
import { part } from './engine.ts'
import type { AnyTransaction, Part } from './engine.ts'

export const timerLists: Part = part('looking for timers', (engine) => {
  const fixture = usePeriodicFixture(engine)

  const commit = <Result>(work: (transaction: AnyTransaction) => unknown): Promise<Result> =>
    fixture.fixture.commit<Result>((transaction) => work(transaction) as Result)
  const thrownBy = (work: (transaction: AnyTransaction) => unknown): Promise<unknown> =>
    commit(work).then(
      (value) => expect.fail(`nothing was refused, and answered ${JSON.stringify(value)}`),
      (error: unknown) => error,
    )

  test('finds those that meet everything that is asked, in order of their ids', async () => {
    for (const timers of [fixture.timers, fixture.scoped('other')] as Timers[]) {
      for (const [application, ids] of [
        ['billing', ['d', 'a']],
        ['shipping', ['c', 'b']],
      ] as const)
        await commit((transaction) =>
          timers.reconcile(
            transaction,
            application,
            ids.map((id) => fixture.hourly({ id, name: id < 'c' ? 'close' : 'open' })),
          ),
        )
    }
    await fixture.schedule({ id: 'e' })
    const found = async (filter?: object): Promise<string> =>
      (await commit<PeriodicTaskInfo[]>((transaction) => fixture.timers.list(transaction, filter)))
        .map(({ scope, id }) => (scope === 'system' ? id : `${id} of ${scope}`))
        .join(' ')
    expect(await found()).toBe('a b c d e')
    expect(await found({})).toBe('a b c d e')
    expect(await found({ name: 'close' })).toBe('a b')
    expect(await found({ application: 'billing' })).toBe('a d')
    expect(await found({ name: 'close', application: 'billing' })).toBe('a')
    expect(await found({ name: 'clos' })).toBe('')
    expect(await found({ application: '' })).toBe('')
  })

  test.each(['get', 'pause', 'resume', 'remove', 'runNow'] as const)(
    'by an id that none can have is refused: %s',
    async (verb) => {
      for (const id of ['', 'x'.repeat(201), 7 as never])
        expect(await thrownBy((transaction) => fixture.timers[verb](transaction, id))).toMatchObject({
          code: 'ARGUMENT_INVALID',
          data: { argument: 'id' },
        })
    },
  )

  test('is told which topic, and which timer, was meant', async () => {
    await fixture.schedule()
    expect(await thrownBy((transaction) => fixture.timers.add(transaction, fixture.hourly()))).toMatchObject({
      code: 'TIMER_DUPLICATE',
      data: { scope: 'system', id: 'report' },
    })
    expect(
      await thrownBy((transaction) => fixture.timers.add(transaction, fixture.hourly({ id: 'new', topic: 'never-there' }))),
    ).toMatchObject({ code: 'TOPIC_UNKNOWN', data: { topic: 'never-there' } })
  })

  test('to reconcile them asks who declares them, and what is to become of others', async () => {
    const declare =
      (application: string, options: object = {}) =>
      (transaction: AnyTransaction): unknown =>
        fixture.timers.reconcile(transaction, application, [fixture.hourly()], options)
    for (const application of ['', 'x'.repeat(201)])
      expect(await thrownBy(declare(application))).toMatchObject({
        code: 'ARGUMENT_INVALID',
        data: { argument: 'application' },
      })
    for (const undeclared of ['', 'keep'])
      expect(await thrownBy(declare('billing', { undeclared }))).toMatchObject({
        code: 'ARGUMENT_INVALID',
        data: { argument: 'undeclared' },
      })
    expect(await fixture.list()).toEqual([])
    for (const undeclared of ['report', 'remove', undefined])
      expect(await commit(declare('billing', { undeclared }))).toMatchObject({ undeclared: [] })
  })
})
