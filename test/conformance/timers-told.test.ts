/** Changes of timers wake sleeping schedulers where the database can notify them. Other changes do not. */
import { periodicTasks } from '@taskstream/task-scheduler'
import type { PeriodicTask, PeriodicTasks } from '@taskstream/task-scheduler'
import { pgListener } from '@taskstream/task-sql/pg'
import { useFixture } from '@taskstream/task-testing/suite'
import pg from 'pg'
import { beforeEach, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'

describe.skipIf(!canRun)('a scheduler that sleeps', () => {
  const fixture = useFixture(engine)
  let timers: PeriodicTasks<AnyTransaction>
  beforeEach(() => {
    timers = periodicTasks(fixture.tasks) as PeriodicTasks<AnyTransaction>
  })

  test('is told of a timer that is added, changed or resumed, and of no other change', async () => {
    const told: (string | undefined)[] = []
    await using _ = await pgListener(() => new pg.Client({ connectionString: fixture.subject.location.at })).listen({
      onTasks: () => {},
      onActivation: (changed) => void told.push(changed),
    })
    const task: PeriodicTask = { id: 'report', timer: 'hourly', topic: fixture.topic }
    let count = 0
    /** Whether a change was notified, judged once a later change has been notified. */
    const isTold = async (work: (transaction: AnyTransaction) => unknown): Promise<boolean> => {
      const after = `${fixture.topic}-${count++}`
      await fixture.commit(async (transaction) => {
        await fixture.tasks.initialize(transaction, after)
        await fixture.tasks.deactivate(transaction, after)
      })
      await expect.poll(() => told).toContain(after)
      told.length = 0
      await fixture.commit(work)
      await fixture.commit((transaction) => fixture.tasks.activate(transaction, after))
      await expect.poll(() => told).toContain(after)
      return told.length > 1
    }
    expect(await isTold((transaction) => timers.schedule(transaction, task))).toBe(true)
    expect(await isTold((transaction) => timers.schedule(transaction, task))).toBe(false)
    expect(await isTold((transaction) => timers.schedule(transaction, { ...task, timer: 'daily' }))).toBe(true)
    expect(await isTold((transaction) => timers.pause(transaction, 'report'))).toBe(false)
    expect(await isTold((transaction) => timers.resume(transaction, 'report'))).toBe(true)
    expect(await isTold((transaction) => timers.resume(transaction, 'report'))).toBe(false)
    expect(await isTold((transaction) => timers.resumeAll(transaction))).toBe(false)
    expect(await isTold((transaction) => timers.pauseAll(transaction))).toBe(false)
    expect(await isTold((transaction) => timers.resumeAll(transaction))).toBe(true)
    expect(await isTold((transaction) => timers.add(transaction, { ...task, id: 'another' }))).toBe(true)
    expect(await isTold((transaction) => timers.runNow(transaction, 'report'))).toBe(false)
    expect(await isTold((transaction) => timers.remove(transaction, 'report'))).toBe(false)
  })
})
