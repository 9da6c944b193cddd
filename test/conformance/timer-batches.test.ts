/** A scheduler fires several occurrences of a due timer in one transaction, and touches no timer that it leaves alone. */
import { timerKey } from '@taskstream/task-api'
import { periodicTasks } from '@taskstream/task-scheduler'
import type { PeriodicTask, PeriodicTaskInfo, PeriodicTasks, TimerKey } from '@taskstream/task-scheduler'
import { sql } from '@taskstream/task-sql'
import { useFixture } from '@taskstream/task-testing/suite'
import { beforeEach, describe, expect, test } from 'vitest'
import { fireNext } from '../../packages/task-scheduler/src/periodic/fire.ts'
import type { FiredSeveral, FiredTimer } from '../../packages/task-scheduler/src/periodic/fire.ts'
import { bindSteps } from '../../packages/task-scheduler/src/periodic/steps.ts'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'

const start = new Date('2026-01-05T08:59:59.500Z')

describe.skipIf(!canRun)('a timer that is due', () => {
  let now = start
  const fixture = useFixture(engine, { clock: () => now })
  let timers: PeriodicTasks<AnyTransaction>
  beforeEach(async () => {
    now = start
    timers = periodicTasks(fixture.tasks) as PeriodicTasks<AnyTransaction>
    const clear = fixture.tasks.verb(function* ({ dialect }) {
      yield sql`delete from ${dialect.tables.periodic}`
    })
    await fixture.commit((transaction) => clear(transaction) as unknown)
  })

  const schedule = (more: Partial<PeriodicTask> = {}, of = timers): Promise<unknown> =>
    fixture.commit((transaction) =>
      of.schedule(transaction, { id: 'report', timer: '*:*:*', topic: fixture.topic, misfire: 'catch-up', ...more }),
    )
  const info = async (): Promise<PeriodicTaskInfo> =>
    (await fixture.commit<PeriodicTaskInfo | undefined>((transaction) => timers.get(transaction, 'report')))!
  const fire = (
    most: number,
    without: readonly TimerKey[] = [],
    at: (timer: TimerKey) => void = () => {},
  ): Promise<FiredSeveral> => {
    const fireOnce = bindSteps(fixture.tasks, fireNext)
    return fixture.commit((transaction) => fireOnce(transaction, new Set(without.map(timerKey)), at, most) as FiredSeveral)
  }
  const fireTimer = async (most: number): Promise<FiredTimer> => (await fire(most)) as FiredTimer
  /** Sets the next occurrence of every timer by SQL, to an instant that no scheduler would have set. */
  const setOccurrence = (occurrence: Date): Promise<unknown> => {
    const set = fixture.tasks.verb(function* ({ dialect }) {
      const instant = dialect.expr.instant(sql`${occurrence.getTime()}`)
      yield sql`update ${dialect.tables.periodic} set occurrence = ${instant}, due = ${instant}`
    })
    return fixture.commit((transaction) => set(transaction) as unknown)
  }

  test('submits as many at once as it is asked for, in order, and says of the last alone that it has ended', async () => {
    await schedule({ maxCount: 5 })
    now = new Date('2026-01-05T09:00:09.000Z')
    const first = await fireTimer(3)
    expect(first.occurrences.map(({ occurrence }) => occurrence.getUTCSeconds())).toEqual([0, 1, 2])
    const tasks = await fixture.page()
    expect(first.occurrences.map(({ task }) => task!.sequence)).toEqual(tasks.map(({ sequence }) => sequence))
    expect(await info()).toMatchObject({
      fired: 3,
      last: { sequence: tasks[2]!.sequence, occurrence: new Date('2026-01-05T09:00:02.000Z') },
    })
    const second = await fireTimer(3)
    expect(second.occurrences.map(({ occurrence, ended }) => [occurrence.getUTCSeconds(), ended])).toEqual([
      [3, undefined],
      [4, 'it has fired 5 times'],
    ])
    expect(second.timer).toMatchObject({ fired: 5, due: null })
  })

  test('submits no more at once than are a million characters of input', async () => {
    await schedule({ input: 'x'.repeat(9_901) })
    now = new Date('2026-01-05T09:02:29.000Z')
    expect((await fireTimer(1_000)).occurrences).toHaveLength(100)
    expect((await fireTimer(1_000)).occurrences).toHaveLength(50)
    await schedule({ input: 'x'.repeat(1_000_001) })
    now = new Date('2026-01-05T09:02:31.000Z')
    expect((await fireTimer(1_000)).occurrences).toHaveLength(1)
  })

  test('submits one at a time where each waits for the one before', async () => {
    await schedule({ whileUnfinished: 'skip' })
    now = new Date('2026-01-05T09:00:09.000Z')
    expect((await fireTimer(3)).occurrences).toMatchObject([{ outcome: 'submitted' }])
    expect((await fireTimer(3)).occurrences).toMatchObject([{ outcome: 'unfinished' }])
    expect(await info()).toMatchObject({ fired: 1, skipped: 1, next: new Date('2026-01-05T09:00:10.000Z') })
  })

  test.each([
    ['submitted', {}, 1],
    ['unfinished', { whileUnfinished: 'skip' }, 2],
    ['late', { misfire: 'skip', lateMs: 0 }, 1],
  ] as const)('whose time zone data differs says so, whatever becomes of it: %s', async (outcome, more, times) => {
    await schedule({ timer: '*:* Europe/Oslo', ...more })
    const occurrence = new Date('2026-01-05T09:00:07.000Z')
    for (let count = 1; count <= times; count++) {
      await setOccurrence(occurrence)
      now = new Date('2026-01-05T09:00:09.000Z')
      const { occurrences, differs } = await fireTimer(1)
      if (count < times) continue
      expect(occurrences).toMatchObject([{ outcome, occurrence }])
      expect(differs).toMatchObject({ timer: { scope: 'system', id: 'report' }, occurrence })
    }
  })

  test('is left alone if that is asked, and only that one', async () => {
    const others = periodicTasks(fixture.tasks, { scope: 'other' }) as PeriodicTasks<AnyTransaction>
    await schedule()
    await schedule({}, others)
    await schedule({ id: 'another' })
    now = new Date('2026-01-05T09:00:00.000Z')
    const told: TimerKey[] = []
    for (let count = 0; count < 2; count++) await fire(1, [{ scope: 'system', id: 'report' }], (timer) => told.push(timer))
    expect(told.toSorted((left, right) => left.id.localeCompare(right.id))).toEqual([
      { scope: 'system', id: 'another' },
      { scope: 'other', id: 'report' },
    ])
    expect(await fire(1, [{ scope: 'system', id: 'report' }])).toEqual({ outcome: 'idle', afterMs: 1_000 })
  })
})
