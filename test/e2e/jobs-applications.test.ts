/** The timers of an application: what nobody declares any more goes, and what a living process declares stays. */
import type { NodeInfo, RecordedAction } from '@taskstream/task-api'
import { removeTimers } from '@taskstream/task-operations'
import { systemClock } from '@taskstream/task-processor'
import type { Clock } from '@taskstream/task-processor'
import { firing, periodicTasks } from '@taskstream/task-scheduler'
import type { PeriodicTaskInfo } from '@taskstream/task-scheduler'
import { sql } from '@taskstream/task-sql'
import { defineJob } from 'taskstream'
import type { AnyJob, Job } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

const nothing = (): void => {}

/** A clock by which the looks for undeclared timers, once a minute, are made by hand. */
function lookingByHand(): { readonly clock: Clock; readonly looks: (() => void)[] } {
  const looks: (() => void)[] = []
  const after: Clock['after'] = (ms, callback) => {
    if (ms !== 60_000) return systemClock.after(ms, callback)
    looks.push(callback)
    return () => {}
  }
  return { clock: { ...systemClock, after }, looks }
}

describe.skipIf(!canRun)('an application', () => {
  const fixture = useJobFixture()
  const timers = (): Promise<PeriodicTaskInfo[]> =>
    fixture.commit(async (transaction) => periodicTasks(fixture.subject.tasks(), { scope: 'jobs' }).list(transaction))

  test('removes the timers that an application no longer defines, and no others', async () => {
    const start = async (application: string | undefined, ...jobs: readonly AnyJob[]): Promise<void> => {
      await using stream = fixture.streamOf({ ...(application !== undefined && { application }) })
      for (const job of jobs) stream.handle(job as Job<string>, nothing)
      await stream.start()
    }
    const yearly = (name: string): AnyJob => defineJob(name, { timer: '*-01-01 00:00 UTC' })
    await start('shop', yearly('shop-a'), yearly('shop-b'))
    await start('bank', yearly('bank-a'))
    await start(undefined, yearly('any-a'))
    await start('shop', yearly('shop-b'))
    await start(undefined, yearly('any-b'))
    expect((await timers()).map(({ id }) => id)).toEqual(['any-a', 'any-b', 'bank-a', 'shop-b'])
    await start('shop')
    expect((await timers()).map(({ id }) => id)).toEqual(['any-a', 'any-b', 'bank-a'])
    expect(await fixture.commit(async (transaction) => firing(fixture.subject.tasks())(transaction))).toMatchObject({
      outcome: 'idle',
    })
  })

  test('leaves a timer that another living process declares, removes it once that one has stopped, and records it', async () => {
    const { subject } = fixture
    const ids = async (): Promise<string[]> => (await timers()).map(({ id }) => id).filter((id) => id.startsWith('shared-'))
    const { clock, looks } = lookingByHand()
    const other = fixture.streamOf({ application: 'shared' })
    other.handle(defineJob('shared-a', { timer: '*-01-01 00:00 UTC' }), nothing)
    await other.start()
    const declares = (): Promise<boolean> =>
      fixture.commit(async (transaction) => {
        const nodes = (await subject.tasks().nodes(transaction)) as readonly NodeInfo[]
        return nodes.some(({ report }) => report?.declares?.timers.includes('shared-a'))
      })
    await expect.poll(declares).toBe(true)
    await using stream = fixture.streamOf({ application: 'shared', clock })
    await stream.start()
    expect(await ids()).toEqual(['shared-a'])
    looks.shift()!()
    await expect.poll(() => looks.length).toBe(1)
    expect(await ids()).toEqual(['shared-a'])
    await other.stop()
    // Its process may only be starting anew, so it is removed when nobody has declared it twice.
    looks.shift()!()
    await expect.poll(() => looks.length).toBe(1)
    expect(await ids()).toEqual(['shared-a'])
    looks.shift()!()
    await expect.poll(ids).toEqual([])
    const [action] = (await fixture.commit(async (transaction) =>
      subject.tasks().actions(transaction, { limit: 1 }),
    )) as readonly RecordedAction[]
    expect(action).toMatchObject({ action: 'timer remove', actor: 'shared', filter: { scope: 'jobs', ids: ['shared-a'] } })
  })

  test('puts a timer back that was removed while its process stood still, and not one that an operator has removed', async () => {
    const { subject } = fixture
    const tasks = subject.tasks()
    const ids = async (): Promise<string[]> => (await timers()).map(({ id }) => id).filter((id) => id.startsWith('still-'))
    const { clock, looks } = lookingByHand()
    const look = async (): Promise<void> => {
      looks.shift()!()
      await expect.poll(() => looks.length).toBe(1)
    }
    const jobs = ['still-a', 'still-b'].map((name) => defineJob(name, { timer: '*-01-01 00:00 UTC' }))
    await using stream = fixture.streamOf({ application: 'still', clock })
    for (const job of jobs) stream.handle(job, nothing)
    await stream.start()
    const forget = tasks.verb(function* ({ dialect }) {
      yield sql`delete from ${dialect.tables.node}`
    })
    await fixture.commit(async (transaction) => forget(transaction))
    await using other = fixture.streamOf({ application: 'still' })
    await other.start()
    expect(await ids()).toEqual([])
    await look()
    expect(await ids()).toEqual(['still-a', 'still-b'])
    const operator = { tasks, transactions: subject.transactions, actor: 'kari', via: 'cli' } as const
    await removeTimers(operator, 'jobs', ['still-b'])
    await look()
    expect(await ids()).toEqual(['still-a'])
    await fixture.commit(async (transaction) => periodicTasks(tasks, { scope: 'jobs' }).remove(transaction, 'still-a'))
  })
})
