/** The outcomes that `fire` returns, which of several due timers it takes, and which topics it looks at first. */
import { TaskDecision } from '@taskstream/task-api'
import type { TaskInfo } from '@taskstream/task-api'
import type { RunNow } from '@taskstream/task-scheduler'
import { expect, test } from 'vitest'
import { usePeriodicFixture } from './periodic-fixture.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'

export const periodicOutcomes: Part = part('a timer that is fired', (engine) => {
  const fixture = usePeriodicFixture(engine)

  const fireAt = (time: string): Promise<string[]> => {
    fixture.at(`2026-01-05T${time}:00.000Z`)
    return fixture.fireAll()
  }
  const runNow = (): Promise<RunNow> =>
    fixture.fixture.commit<RunNow>((transaction) => fixture.timers.runNow(transaction, 'report'))
  const ids = async (): Promise<string[]> => (await fixture.fixture.page()).map(({ identifier }) => identifier)

  test('is the one that has been due for longest, and what is to come is told by the first', async () => {
    await fixture.schedule({ id: 'a', timer: '*:15' })
    await fixture.schedule({ id: 'b', timer: '*:05' })
    await fixture.schedule({ id: 'c', timer: '*:10' })
    fixture.at('2026-01-05T09:00:00.000Z')
    expect(await fixture.fireOnce()).toStrictEqual({ outcome: 'idle', afterMs: 5 * 60_000 })
    expect(await fireAt('09:12')).toEqual(['submitted 09:05', 'submitted 09:10'])
    expect(await ids()).toEqual(['b', 'c'])
    expect(await fixture.fireOnce()).toStrictEqual({ outcome: 'idle', afterMs: 3 * 60_000 })
  })

  test('tells which, and that it has ended only when it has', async () => {
    await fixture.schedule({ maxCount: 2, whileUnfinished: 'push' })
    fixture.at('2026-01-05T09:00:00.000Z')
    const fired = await fixture.fireOnce()
    const timer = { scope: 'system', id: 'report' }
    const { topic } = fixture.fixture
    const [{ sequence }] = (await fixture.fixture.page()) as [TaskInfo]
    expect(fired).toEqual({
      outcome: 'submitted',
      timer,
      occurrence: fixture.now,
      task: { topic, sequence, identifier: 'report', outcome: 'created' },
    })
    expect(fired).not.toHaveProperty('ended')
    fixture.at('2026-01-05T10:00:00.000Z')
    expect(await fixture.fireOnce()).toMatchObject({ timer, ended: 'it has fired 2 times' })
  })

  test('tells that it has ended when its last occurrence is passed over, or is late', async () => {
    const end = new Date('2026-01-05T10:00:00.000Z')
    await fixture.schedule({ end })
    await fireAt('09:00')
    await fixture.schedule({ id: 'late', timer: '2026-01-05 09:30', misfire: 'skip' })
    fixture.at('2026-01-05T10:00:00.000Z')
    const timer = { scope: 'system', id: 'late' }
    expect(await fixture.fireOnce()).toStrictEqual({
      outcome: 'late',
      timer,
      occurrence: new Date('2026-01-05T09:30:00.000Z'),
      ended: 'its timer never elapses again',
    })
    expect(await fixture.fireOnce()).toStrictEqual({
      outcome: 'unfinished',
      timer: { ...timer, id: 'report' },
      occurrence: end,
      ended: 'it ends 2026-01-05T10:00:00.000Z',
    })
    expect((await fixture.list()).map(({ status }) => status)).toEqual(['ended', 'ended'])
  })

  test('says nothing of an end while it goes on', async () => {
    await fixture.schedule({ misfire: 'drop', whileUnfinished: 'skip' })
    await fireAt('09:00')
    fixture.at('2026-01-05T10:00:00.000Z')
    expect(await fixture.fireOnce()).toStrictEqual({
      outcome: 'unfinished',
      timer: { scope: 'system', id: 'report' },
      occurrence: fixture.now,
    })
    await fixture.finish()
    fixture.at('2026-01-05T11:30:00.000Z')
    expect(await fixture.fireOnce()).toStrictEqual({
      outcome: 'late',
      timer: { scope: 'system', id: 'report' },
      occurrence: new Date('2026-01-05T11:00:00.000Z'),
    })
  })

  test.each(['skip', 'drop'] as const)('may be late by a minute where nothing is said of it: %s', async (misfire) => {
    await fixture.schedule({ timer: 'daily', misfire })
    fixture.at('2026-01-06T00:01:00.000Z')
    expect(await fixture.fireAll()).toEqual(['submitted 00:00'])
    await fixture.finish()
    fixture.at('2026-01-07T00:01:00.001Z')
    expect(await fixture.fireAll()).toEqual(['late 00:00'])
  })

  test('by hand is submitted beside an unfinished one where that may be, and is the last then, of no occurrence', async () => {
    await fixture.schedule({ whileUnfinished: 'push' })
    await fireAt('09:00')
    const { submitted } = await runNow()
    expect(submitted).toMatchObject({ outcome: 'created' })
    expect((await fixture.info()).last).toEqual({ topic: fixture.fixture.topic, sequence: submitted!.sequence })
    expect(await fixture.fixture.states()).toEqual({ ready: 2 })
  })

  test('sees its last task behind a thousand that have ended', async () => {
    const { tasks, topic, commit } = fixture.fixture
    const before = Array.from({ length: 1_000 }, (_, hours) => ({
      identifier: 'report',
      reference: 'timer:6:system/report',
      externalId: `timer:6:system/report@${new Date(Date.UTC(2025, 0, 1, hours)).toISOString()}`,
    }))
    await commit((transaction) => tasks.push(transaction, topic, before) as unknown)
    for (let held = await fixture.fixture.poll(); held.length > 0; held = await fixture.fixture.poll())
      await fixture.fixture.complete(held, TaskDecision.success())
    await fixture.schedule()
    expect(await fireAt('09:00')).toEqual(['submitted 09:00'])
    expect(await fireAt('10:00')).toEqual(['unfinished 10:00'])
  })

  test('looks at its own topic and at that of its last task, and at no other', async () => {
    const { commit, tasks } = fixture.fixture
    const fireIn = async (topic: string, time: string, whileUnfinished: 'push' | 'skip'): Promise<string[]> => {
      await fixture.schedule({ topic, whileUnfinished })
      return fireAt(time)
    }
    const [first, second, third] = ['first', 'second', 'third'].map((name) => `${fixture.fixture.topic}-${name}`) as [
      string,
      string,
      string,
    ]
    for (const topic of [first, second, third]) await commit((transaction) => tasks.initialize(transaction, topic) as unknown)
    expect(await fireIn(first, '09:00', 'push')).toEqual(['submitted 09:00'])
    expect(await fireIn(second, '10:00', 'push')).toEqual(['submitted 10:00'])
    await commit((transaction) => tasks.purgeAll(transaction, second) as unknown)
    // The timer's last task was in the second topic and is purged. The unfinished task in the first topic counts again, as the
    // timer pushes there.
    expect(await fireIn(first, '11:00', 'skip')).toEqual(['unfinished 11:00'])
    expect(await fireIn(third, '12:00', 'skip')).toEqual(['submitted 12:00'])
  })
})
