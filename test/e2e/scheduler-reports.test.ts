/** Whoever looks at processes sees which fire timers, whether they can, and may have one of them leave its timers to others. */
import type { NodeInfo, StoredTimer } from '@taskstream/task-api'
import { PeriodicScheduler, periodicTasks } from '@taskstream/task-scheduler'
import type { PeriodicTasks } from '@taskstream/task-scheduler'
import { openFixture } from '@taskstream/task-testing/suite'
import type { Fixture } from '@taskstream/task-testing/suite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction, Subject, Tasks } from '../subject.ts'
import { watchedClock } from './watched-clock.ts'
import type { WatchedClock } from './watched-clock.ts'

describe.skipIf(!canRun)('a scheduler', () => {
  let fixture: Fixture<Subject>
  let clock: WatchedClock
  let timers: PeriodicTasks<AnyTransaction>
  let told: unknown[]
  const running: PeriodicScheduler<AnyTransaction>[] = []
  beforeEach(async () => {
    clock = watchedClock()
    told = []
    fixture = await openFixture(engine, clock.now)
    timers = periodicTasks(fixture.tasks) as PeriodicTasks<AnyTransaction>
  })
  afterEach(async () => {
    for (const scheduler of running.splice(0)) await scheduler.stop()
    await fixture[Symbol.asyncDispose]()
  })

  const start = async (repository: Tasks = fixture.tasks): Promise<PeriodicScheduler<AnyTransaction>> => {
    const { transactions } = fixture.subject
    const listener = {
      onQuiet: ({ quiet }: { quiet: boolean }): void => void told.push(quiet),
      onError: (error: unknown): void => void told.push((error as Error).message),
    }
    const scheduler = new PeriodicScheduler<AnyTransaction>({ repository, transactions, clock, listener })
    running.push(scheduler)
    await scheduler.start()
    return scheduler
  }
  const infoOf = async (tasks: Tasks = fixture.tasks): Promise<NodeInfo | undefined> => {
    const all = await fixture.commit<readonly NodeInfo[]>((transaction) => fixture.tasks.nodes(transaction))
    return all.find(({ owner }) => owner === `${tasks.owner}/timers`)
  }
  const later = async <Result>(look: () => Result | Promise<Result>): Promise<Result> => {
    clock.advance(500)
    return look()
  }

  test('is shown while it fires timers, and as stopped afterwards', async () => {
    expect(await infoOf()).toBe(undefined)
    const scheduler = await start()
    await expect
      .poll(() => infoOf())
      .toMatchObject({
        life: 'living',
        report: { kind: 'scheduler', pid: process.pid, leaseMs: 90_000, topics: [] },
      })
    await scheduler.stop()
    expect(await infoOf()).toMatchObject({ life: 'stopped' })
  })

  test('tells which timer it cannot fire, until that is fired or gone', async () => {
    const lost = `${fixture.topic}-lost`
    await fixture.commit(async (transaction) => {
      await (fixture.tasks.initialize(transaction, lost) as unknown)
      await timers.schedule(transaction, { id: 'lost', topic: lost, timer: '*:*:*' })
      await (fixture.tasks.destroy(transaction, lost) as unknown)
    })
    await start()
    const error = async (): Promise<unknown> => (await infoOf())?.report?.error ?? 'none'
    await expect.poll(() => later(error)).toMatchObject({ activity: 'fire', code: 'TOPIC_UNKNOWN' })
    expect(await error()).toMatchObject({ message: expect.stringMatching(/^timer lost of system: /) })
    await fixture.commit((transaction) => timers.remove(transaction, 'lost'))
    await expect.poll(() => later(error)).toBe('none')
  })

  test('that is asked to be quiet leaves its timers to others, and fires again when it is asked to', async () => {
    const other = fixture.subject.tasks({ clock: clock.now })
    await fixture.commit((transaction) => timers.schedule(transaction, { id: 'tick', topic: fixture.topic, timer: '*:*:*' }))
    const scheduler = await start()
    const fired = async (): Promise<number> => {
      const timer = await fixture.commit<StoredTimer | undefined>((transaction) =>
        fixture.tasks.timers.get(transaction, { scope: 'system', id: 'tick' }),
      )
      return timer!.fired + timer!.skipped
    }
    const ask = (quiet: boolean): Promise<boolean> =>
      fixture.commit<boolean>((transaction) => fixture.tasks.quiet(transaction, `${fixture.tasks.owner}/timers`, quiet))
    await expect.poll(() => later(fired)).toBeGreaterThan(0)
    await expect.poll(() => ask(true)).toBe(true)
    await expect.poll(() => later(() => told)).toEqual([true])
    // What it was doing when it was told is over.
    let before = -1
    await expect
      .poll(async () => {
        const [last, now] = [before, await later(fired)]
        before = now
        return last === now
      })
      .toBe(true)
    for (let chance = 0; chance < 20; chance++) {
      scheduler.notify()
      expect(await later(fired)).toBe(before)
    }
    await start(other)
    await expect.poll(() => later(fired)).toBeGreaterThan(before)
    await ask(false)
    await expect.poll(() => later(() => told)).toEqual([true, false])
  })

  test('fires its timers if it cannot tell anything, and says so once', async () => {
    const fail = (): never => {
      throw new Error('no table')
    }
    await fixture.commit((transaction) => timers.schedule(transaction, { id: 'tick', topic: fixture.topic, timer: '*:*:*' }))
    await start({ ...fixture.tasks, report: fail })
    const last = async (): Promise<number> =>
      (await fixture.commit<StoredTimer | undefined>((transaction) =>
        fixture.tasks.timers.get(transaction, { scope: 'system', id: 'tick' }),
      ))!.occurrence!
    const from = await last()
    await expect.poll(() => later(last)).toBeGreaterThan(from + 65_000)
    expect(told).toEqual(['no table'])
  })
})
