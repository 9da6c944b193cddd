/** Schedulers fire timers at their occurrences, by a clock that the test moves. */
import type { TaskInfo } from '@taskstream/task-api'
import { occurrenceOf, PeriodicScheduler, periodicTasks } from '@taskstream/task-scheduler'
import type { PeriodicListener, PeriodicTasks } from '@taskstream/task-scheduler'
import { sql } from '@taskstream/task-sql'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openFixture } from '@taskstream/task-testing/suite'
import type { Fixture } from '@taskstream/task-testing/suite'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction, Subject } from '../subject.ts'
import { watchedClock } from './watched-clock.ts'
import type { WatchedClock } from './watched-clock.ts'

describe.skipIf(!canRun)('a periodic scheduler', () => {
  let fixture: Fixture<Subject>
  let clock: WatchedClock
  let timers: PeriodicTasks<AnyTransaction>
  const running: PeriodicScheduler<AnyTransaction>[] = []
  beforeEach(async () => {
    clock = watchedClock()
    fixture = await openFixture(engine, clock.now)
    timers = periodicTasks(fixture.tasks) as PeriodicTasks<AnyTransaction>
  })
  afterEach(async () => {
    for (const scheduler of running.splice(0)) await scheduler.stop()
    await fixture[Symbol.asyncDispose]()
  })

  const start = async (listener: PeriodicListener = {}): Promise<PeriodicScheduler<AnyTransaction>> => {
    const { transactions } = fixture.subject
    const scheduler = new PeriodicScheduler<AnyTransaction>({ repository: fixture.tasks, transactions, listener, clock })
    running.push(scheduler)
    await scheduler.start()
    return scheduler
  }
  const often = (id: string, topic = fixture.topic): Parameters<typeof timers.schedule>[1] => ({
    id,
    topic,
    timer: '*:*:*',
    whileUnfinished: 'push',
    misfire: 'catch-up',
  })
  const submitted = async (id: string): Promise<number[]> =>
    (await fixture.page())
      .filter((task: TaskInfo) => occurrenceOf(task)?.id === id)
      .map((task) => occurrenceOf(task)!.at.getTime())

  /** Moves the clock on, and then looks. */
  const later = async <Result>(look: () => Result | Promise<Result>): Promise<Result> => {
    clock.advance(500)
    return look()
  }

  test('submits every occurrence, once and in order, however many of them there are', async () => {
    await fixture.commit((transaction) => timers.schedule(transaction, often('tick')))
    for (let count = 0; count < 3; count++) await start()
    await expect.poll(() => later(async () => (await submitted('tick')).length)).toBeGreaterThanOrEqual(3)
    const found = await submitted('tick')
    expect(found).toEqual(found.map((_, index) => found[0]! + index * 1_000))
  })

  test('keeps no timer waiting for the backlog of another, and submits each occurrence once', async () => {
    const behind = fixture.tasks.verb(function* ({ dialect }, id: string, seconds: number) {
      const instant = dialect.expr.instant(sql`${Math.floor(clock.now().getTime() / 1_000 - seconds) * 1_000}`)
      yield sql`update ${dialect.tables.periodic} set occurrence = ${instant}, due = ${instant} where id = ${id}`
    })
    await fixture.commit(async (transaction) => {
      for (const [id, seconds] of [
        ['first', 1_800],
        ['second', 1_700],
        ['late', 1_200],
      ] as const) {
        await timers.schedule(transaction, { ...often(id), ...(id === 'late' && { timer: 'yearly' }) })
        await (behind(transaction, id, seconds) as unknown)
      }
    })
    const fired: string[] = []
    await start({ onFired: ({ timer }) => fired.push(timer.id) })
    await expect.poll(() => fired.includes('late')).toBe(true)
    // The others have fired a share of their backlogs each, in turn.
    const before = fired.slice(0, fired.indexOf('late'))
    expect([before.filter((id) => id === 'first').length, before.filter((id) => id === 'second').length]).toEqual([100, 100])
    const counts = (): number[] => ['first', 'second'].map((id) => fired.filter((each) => each === id).length)
    await expect.poll(counts).toEqual([expect.toSatisfy((n) => n > 1_800), expect.toSatisfy((n) => n > 1_700)])
    for (const id of ['first', 'second']) {
      const found = await submitted(id)
      expect(found).toEqual(found.map((_, index) => found[0]! + index * 1_000))
    }
  })

  test('tells of an occurrence that its own time zone data does not have, and submits it', async () => {
    const occurrence = new Date(Math.floor(clock.now().getTime() / 60_000) * 60_000 - 53_000)
    const elsewhere = fixture.tasks.verb(function* ({ dialect }) {
      const instant = dialect.expr.instant(sql`${occurrence.getTime()}`)
      yield sql`update ${dialect.tables.periodic} set occurrence = ${instant}, due = ${instant}`
    })
    await fixture.commit(async (transaction) => {
      // Seven seconds past a minute is an occurrence of `agrees` only. `utc` has no time zone of which the data could differ.
      for (const [id, timer] of [
        ['differs', '*:* Europe/Oslo'],
        ['agrees', '*:*:07 Europe/Oslo'],
        ['utc', '*:*'],
      ] as const)
        await timers.schedule(transaction, { ...often(id), timer })
      await (elsewhere(transaction) as unknown)
    })
    const told: unknown[] = []
    const fired = new Set<string>()
    await start({ onZonesDiffer: (event) => told.push(event), onFired: ({ timer }) => fired.add(timer.id) })
    await expect.poll(() => fired.size).toBe(3)
    expect(told).toEqual([
      {
        timer: { scope: 'system', id: 'differs' },
        occurrence,
        here: new Date(occurrence.getTime() + 53_000),
        data: process.versions['tz'],
      },
    ])
    expect((await submitted('differs'))[0]).toBe(occurrence.getTime())
  })

  test('is told of a change, and does not sleep on', async () => {
    // Nothing to do: it sleeps until it looks again, in ten seconds.
    const scheduler = await start()
    // The longer pause is that of its reports.
    const sleeps = (): readonly number[] => clock.pauses.filter((ms) => ms !== 30_000)
    await expect.poll(sleeps).toEqual([10_000])
    await fixture.commit((transaction) => timers.schedule(transaction, often('tick')))
    scheduler.notify()
    await expect.poll(sleeps).toEqual([10_000, expect.toSatisfy((ms) => ms <= 1_000)])
    clock.advance(1_000)
    await expect.poll(async () => (await submitted('tick')).length).toBeGreaterThan(0)
  })

  test('fires the others while one of them cannot be fired, and that one once it can', async () => {
    await fixture.commit(async (transaction) => {
      await fixture.tasks.initialize(transaction, 'doomed')
      await timers.schedule(transaction, often('ailing', 'doomed'))
      await timers.schedule(transaction, often('well'))
      await fixture.tasks.destroy(transaction, 'doomed')
    })
    const errors: unknown[] = []
    await start({ onError: (error, timer) => errors.push([(error as { code?: string }).code, timer?.id]) })
    await expect.poll(() => later(() => errors)).toContainEqual(['TOPIC_UNKNOWN', 'ailing'])
    const before = (await submitted('well')).length
    await expect.poll(() => later(async () => (await submitted('well')).length)).toBeGreaterThan(before)
    await fixture.commit<boolean>((transaction) => fixture.tasks.initialize(transaction, 'doomed'))
    const inDoomed = (): Promise<TaskInfo[]> =>
      fixture.commit<TaskInfo[]>((transaction) => fixture.tasks.page(transaction, 'doomed'))
    await expect.poll(() => later(async () => (await inDoomed()).length)).toBeGreaterThan(0)
  })

  test('leaves a timer alone that it cannot read, and says which', async () => {
    await fixture.commit((transaction) => timers.schedule(transaction, often('future')))
    const misread = fixture.tasks.verb(function* ({ dialect }) {
      yield sql`update ${dialect.tables.periodic} set timer = ${'a grammar of tomorrow'}`
    })
    await fixture.commit((transaction) => misread(transaction) as unknown)
    const ailing: unknown[] = []
    await start({ onError: (_error, timer) => ailing.push(timer) })
    await expect.poll(() => later(() => ailing)).toContainEqual({ scope: 'system', id: 'future' })
  })

  test('starts once, and says so', async () => {
    const scheduler = await start()
    await expect(scheduler.start()).rejects.toMatchObject({ code: 'LIFECYCLE' })
    await scheduler.stop()
    await expect(scheduler.start()).rejects.toMatchObject({ code: 'LIFECYCLE' })
  })

  test('goes on when what listens to it throws', async () => {
    await fixture.commit((transaction) => timers.schedule(transaction, often('tick')))
    let heard = 0
    await start({
      onFired: () => {
        heard++
        throw new Error('of the listener')
      },
    })
    await expect.poll(() => later(() => heard)).toBeGreaterThan(1)
  })
})
