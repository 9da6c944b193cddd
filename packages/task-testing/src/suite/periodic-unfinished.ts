/** A timer's tasks do not overlap, even where people change tasks by hand between two occurrences. */
import { TaskDecision } from '@taskstream/task-api'
import type { RunNow } from '@taskstream/task-scheduler'
import { expect, test } from 'vitest'
import { usePeriodicFixture } from './periodic-fixture.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'

export const periodicUnfinished: Part = part('a timer whose tasks must not overlap submits none', (engine) => {
  const fixture = usePeriodicFixture(engine)

  const fireAt = (time: string): Promise<string[]> => {
    fixture.at(`2026-01-05T${time}:00.000Z`)
    return fixture.fireAll()
  }
  const fail = async (): Promise<void> =>
    void (await fixture.fixture.complete(await fixture.fixture.poll(), TaskDecision.failure('no')))
  const redrive = (): Promise<unknown> =>
    fixture.fixture.commit((transaction) => fixture.fixture.tasks.redrive(transaction, fixture.fixture.topic) as unknown)
  const runNow = (): Promise<RunNow> =>
    fixture.fixture.commit<RunNow>((transaction) => fixture.timers.runNow(transaction, 'report'))

  test('while an older one that had failed is redriven', async () => {
    await fixture.schedule()
    await fireAt('09:00')
    await fail()
    await fireAt('10:00')
    await fixture.finish()
    const [oldest] = (await fixture.fixture.page()).toSorted((left, right) => left.sequence - right.sequence)
    await redrive()
    expect(await fireAt('11:00')).toEqual(['unfinished 11:00'])
    expect(await runNow()).toEqual({ unfinished: oldest!.sequence })
    await fixture.finish()
    expect(await fireAt('12:00')).toEqual(['submitted 12:00'])
  })

  test('while one that was run by hand is redriven', async () => {
    await fixture.schedule()
    expect((await runNow()).submitted).toBeDefined()
    await fail()
    await fireAt('09:00')
    await fixture.finish()
    await redrive()
    expect(await fireAt('10:00')).toEqual(['unfinished 10:00'])
    await fixture.finish()
    // The timer can be run by hand again and again.
    for (let count = 0; count < 2; count++) {
      expect((await runNow()).submitted).toMatchObject({ outcome: 'created' })
      await fixture.finish()
    }
  })

  test.each(['append', 'reset'] as const)('while the last one is recreated: %s', async (revivification) => {
    await fixture.schedule()
    await fireAt('09:00')
    await fail()
    const { tasks, topic } = fixture.fixture
    const failed = await fixture.fixture.page()
    await fixture.fixture.commit((transaction) => tasks.recreate(transaction, topic, revivification, failed) as unknown)
    expect(await fireAt('10:00')).toEqual(['unfinished 10:00'])
    const held = await fixture.fixture.poll()
    expect(await fireAt('11:00')).toEqual(['unfinished 11:00'])
    await fixture.fixture.complete(held)
    expect(await fireAt('12:00')).toEqual(['submitted 12:00'])
  })

  test('while one is open from before it was removed and added again', async () => {
    await fixture.schedule()
    await fireAt('09:00')
    await fixture.fixture.commit((transaction) => fixture.timers.remove(transaction, 'report') as unknown)
    await fixture.schedule()
    expect(await fireAt('10:00')).toEqual(['unfinished 10:00'])
    expect(await runNow()).toMatchObject({ unfinished: expect.any(Number) })
    await fixture.finish()
    expect(await fireAt('11:00')).toEqual(['submitted 11:00'])
  })

  test('while one is open in the topic that it had before', async () => {
    await fixture.schedule()
    const before = fixture.fixture.topic
    await fireAt('09:00')
    await fail()
    await fireAt('10:00')
    await fixture.finish()
    await redrive()
    await fixture.fixture.nextTopic()
    await fixture.schedule()
    expect(await fireAt('11:00')).toEqual(['unfinished 11:00'])
    await fixture.fixture.commit((transaction) => fixture.fixture.tasks.purgeAll(transaction, before) as unknown)
    expect(await fireAt('12:00')).toEqual(['submitted 12:00'])
  })

  test('and does not take those of others for its own', async () => {
    const ids = ['report', 'report@2026-01-05T09:00:00.000Z', 'report@', 'repor', 'report~', 'report/2']
    for (const id of ids) await fixture.schedule({ id, timer: id === 'report' ? '*:00,30' : 'hourly' })
    await fixture.fixture.commit((transaction) => fixture.scoped('other').schedule(transaction, fixture.hourly()) as unknown)
    expect(await fireAt('09:00')).toHaveLength(7)
    const held = await fixture.fixture.poll()
    await fixture.fixture.complete(held.filter(({ reference }) => reference === 'timer:6:system/report'))
    expect(await fireAt('09:30')).toEqual(['submitted 09:30'])
  })
})
