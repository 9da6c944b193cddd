/** A timer's tasks do not overlap: what hands do to them between two occurrences is seen too. */
import { TaskDecision } from '@taskstream/task-api'
import type { RunNow } from '@taskstream/task-scheduler'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { openPeriodicFixture } from './periodic-fixture.ts'
import type { PeriodicFixture } from './periodic-fixture.ts'

describe.skipIf(!canRun)('a timer whose tasks must not overlap submits none', () => {
  let it: PeriodicFixture
  beforeAll(async () => {
    it = await openPeriodicFixture()
  })
  afterAll(() => it[Symbol.asyncDispose]())
  beforeEach(() => it.reset())

  const fireAt = (time: string): Promise<string[]> => {
    it.at(`2026-01-05T${time}:00.000Z`)
    return it.fireAll()
  }
  const fail = async (): Promise<void> => void (await it.fixture.complete(await it.fixture.poll(), TaskDecision.failure('no')))
  const redrive = (): Promise<unknown> =>
    it.fixture.commit((transaction) => it.fixture.tasks.redrive(transaction, it.fixture.topic) as unknown)
  const runNow = (): Promise<RunNow> => it.fixture.commit<RunNow>((transaction) => it.timers.runNow(transaction, 'report'))

  test('while an older one that had failed is redriven', async () => {
    await it.schedule()
    await fireAt('09:00')
    await fail()
    await fireAt('10:00')
    await it.finish()
    const [oldest] = (await it.fixture.page()).toSorted((left, right) => left.sequence - right.sequence)
    await redrive()
    expect(await fireAt('11:00')).toEqual(['unfinished 11:00'])
    expect(await runNow()).toEqual({ unfinished: oldest!.sequence })
    await it.finish()
    expect(await fireAt('12:00')).toEqual(['submitted 12:00'])
  })

  test('while one that was run by hand is redriven', async () => {
    await it.schedule()
    expect((await runNow()).submitted).toBeDefined()
    await fail()
    await fireAt('09:00')
    await it.finish()
    await redrive()
    expect(await fireAt('10:00')).toEqual(['unfinished 10:00'])
    await it.finish()
    // And may be run by hand again and again.
    for (let count = 0; count < 2; count++) {
      expect((await runNow()).submitted).toMatchObject({ outcome: 'created' })
      await it.finish()
    }
  })

  test.each(['append', 'reset'] as const)('while the last one is recreated: %s', async (revivification) => {
    await it.schedule()
    await fireAt('09:00')
    await fail()
    const { tasks, topic } = it.fixture
    const failed = await it.fixture.page()
    await it.fixture.commit((transaction) => tasks.recreate(transaction, topic, revivification, failed) as unknown)
    expect(await fireAt('10:00')).toEqual(['unfinished 10:00'])
    const held = await it.fixture.poll()
    expect(await fireAt('11:00')).toEqual(['unfinished 11:00'])
    await it.fixture.complete(held)
    expect(await fireAt('12:00')).toEqual(['submitted 12:00'])
  })

  test('while one is open from before it was removed and added again', async () => {
    await it.schedule()
    await fireAt('09:00')
    await it.fixture.commit((transaction) => it.timers.remove(transaction, 'report') as unknown)
    await it.schedule()
    expect(await fireAt('10:00')).toEqual(['unfinished 10:00'])
    expect(await runNow()).toMatchObject({ unfinished: expect.any(Number) })
    await it.finish()
    expect(await fireAt('11:00')).toEqual(['submitted 11:00'])
  })

  test('while one is open in the topic that it had before', async () => {
    await it.schedule()
    const before = it.fixture.topic
    await fireAt('09:00')
    await fail()
    await fireAt('10:00')
    await it.finish()
    await redrive()
    await it.fixture.nextTopic()
    await it.schedule()
    expect(await fireAt('11:00')).toEqual(['unfinished 11:00'])
    await it.fixture.commit((transaction) => it.fixture.tasks.purgeAll(transaction, before) as unknown)
    expect(await fireAt('12:00')).toEqual(['submitted 12:00'])
  })

  test('and does not take those of others for its own', async () => {
    const ids = ['report', 'report@2026-01-05T09:00:00.000Z', 'report@', 'repor', 'report~', 'report/2']
    for (const id of ids) await it.schedule({ id, timer: id === 'report' ? '*:00,30' : 'hourly' })
    await it.fixture.commit((transaction) => it.scoped('other').schedule(transaction, it.hourly()) as unknown)
    expect(await fireAt('09:00')).toHaveLength(7)
    const held = await it.fixture.poll()
    await it.fixture.complete(held.filter(({ reference }) => reference === 'timer:6:system/report'))
    expect(await fireAt('09:30')).toEqual(['submitted 09:30'])
  })
})
