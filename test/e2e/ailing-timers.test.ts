/** A scheduler backs off from timers that cannot be fired, longer each time. Other timers are fired in time meanwhile. */
import { PeriodicScheduler, periodicTasks } from '@taskstream/task-scheduler'
import type { PeriodicSchedulerOptions, PeriodicTasks } from '@taskstream/task-scheduler'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openFixture } from '@taskstream/task-testing/suite'
import type { Fixture } from '@taskstream/task-testing/suite'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction, Subject } from '../subject.ts'
import { watchedClock } from './watched-clock.ts'
import type { WatchedClock } from './watched-clock.ts'

describe.skipIf(!canRun)('a scheduler', () => {
  let clock: WatchedClock
  let fixture: Fixture<Subject>
  let timers: PeriodicTasks<AnyTransaction>
  let scheduler: PeriodicScheduler<AnyTransaction> | undefined
  /** The events that the scheduler reported, in order. */
  let told: string[]
  beforeEach(async () => {
    clock = watchedClock(new Date('2026-01-01T12:00:00Z'))
    fixture = await openFixture(engine, clock.now)
    timers = periodicTasks(fixture.tasks) as PeriodicTasks<AnyTransaction>
    told = []
  })
  afterEach(async () => {
    await scheduler?.stop()
    await fixture[Symbol.asyncDispose]()
  })

  const start = async (
    options: Partial<PeriodicSchedulerOptions<AnyTransaction, never>> = {},
  ): Promise<PeriodicScheduler<AnyTransaction>> => {
    const { transactions } = fixture.subject
    const listener = {
      onFired: ({ timer }: { timer: { id: string } }) => void told.push(`${timer.id} fired`),
      onError: (_: unknown, timer?: { id: string }) => void told.push(`${timer?.id} failed`),
    }
    // Its reports would pause by the same clock, and fail where it cannot look.
    const repository = { ...fixture.tasks, report: undefined as never }
    scheduler = new PeriodicScheduler<AnyTransaction>({ repository, transactions, clock, listener, ...options })
    await scheduler.start()
    return scheduler
  }
  const schedule = (...ids: readonly (readonly [id: string, timer: string, topic?: string])[]): Promise<unknown> =>
    fixture.commit(async (transaction) => {
      for (const [id, timer, topic = fixture.topic] of ids)
        await timers.schedule(transaction, { id, timer, topic, whileUnfinished: 'push' })
    })
  /** Makes the topic, or removes it so that timers of this topic cannot be fired. */
  const make = (there: boolean): Promise<unknown> =>
    fixture.commit((transaction) =>
      there ? fixture.tasks.initialize(transaction, 'doomed') : fixture.tasks.destroy(transaction, 'doomed'),
    )
  const failures = (): number => told.filter((event) => event.endsWith('failed')).length

  test('fires those that can be fired, however many are overdue that cannot', async () => {
    await make(true)
    const many = Array.from({ length: 40 }, (_, index) => `ailing ${index}`)
    await schedule(...many.map((id) => [id, '*:*:*', 'doomed'] as const), ['well', '*:*:05'])
    await make(false)
    clock.advance(5_000)
    await start()
    // The clock stands still, so each of the other timers is tried once and then backed off from.
    await expect.poll(() => told).toContain('well fired')
    expect([failures(), new Set(told).size]).toEqual([40, 41])
  })

  test('lets one be for about a second, then two, then four; and is not slower for it once it was fired again', async () => {
    await make(true)
    await schedule(['ailing', '*:*:*', 'doomed'])
    await make(false)
    clock.advance(1_000)
    await start({ pollIntervalMs: 600_000 })
    /** Returns how long the scheduler pauses after so many failures. It has no other timer to fire. */
    const pause = async (count: number): Promise<number> => {
      await expect.poll(failures).toBe(count)
      await expect.poll(() => clock.pauses.length).toBe(count)
      return clock.pauses.at(-1)!
    }
    const fired = (): number => told.filter((event) => event === 'ailing fired').length
    for (const [index, ms] of [1_000, 2_000, 4_000].entries()) {
      const found = await pause(index + 1)
      expect(found).toBeGreaterThanOrEqual(ms * 0.75)
      expect(found).toBeLessThanOrEqual(ms * 1.25)
      if (ms < 4_000) clock.advance(Math.ceil(found))
    }
    await make(true)
    clock.advance(5_000)
    await expect.poll(fired).toBe(1)
    // Its next occurrence is at most a second away.
    await expect.poll(() => clock.pauses.at(-1)).toBeLessThanOrEqual(1_000)
    await make(false)
    const before = clock.pauses.length
    clock.advance(1_000)
    await expect.poll(failures).toBe(4)
    await expect.poll(() => clock.pauses.length).toBeGreaterThan(before)
    const again = clock.pauses.at(-1)!
    expect(again).toBeGreaterThanOrEqual(750)
    expect(again).toBeLessThanOrEqual(1_250)
  })

  test.each([
    ['ten seconds, if nothing is said', {}, 10_000],
    ['as long as it is told', { pollIntervalMs: 2_500 }, 2_500],
  ] as const)(
    'sleeps no longer than %s, however far the next timer is, and finds what nobody told it of',
    async (_, options, ms) => {
      await schedule(['next year', '2027-01-01'])
      await start(options)
      await expect.poll(() => clock.pauses).toEqual([ms])
      // Another process changes the timer, without a notifier.
      await schedule(['unheard', '*:*:01'])
      clock.advance(ms - 1)
      expect(told).toEqual([])
      clock.advance(1)
      await expect.poll(() => told).toEqual(['unheard fired'])
    },
  )

  test('sleeps no longer than that where there is no timer at all, and until the next where that is sooner', async () => {
    const running = await start()
    await expect.poll(() => clock.pauses).toEqual([10_000])
    await schedule(['soon', '*:*:03'])
    running.notify()
    await expect.poll(() => clock.pauses).toEqual([10_000, 3_000])
  })

  test('waits longer each time while it cannot look at all, up to a minute, and begins anew once it could', async () => {
    let broken = false
    const { transactions } = fixture.subject
    const running = await start({
      transactions: async (work, options) => {
        if (broken) throw new Error('not now')
        return transactions(work, options)
      },
    })
    await expect.poll(() => clock.pauses).toEqual([10_000])
    broken = true
    running.notify()
    for (const [index, ms] of [1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * 1_000).entries()) {
      await expect.poll(() => clock.pauses.length).toBe(index + 2)
      const pause = clock.pauses.at(-1)!
      expect([ms, pause >= ms * 0.75, pause <= ms * 1.25]).toEqual([ms, true, true])
      clock.advance(Math.ceil(pause))
    }
    await expect.poll(failures).toBe(9)
    await expect.poll(() => clock.pauses.length).toBe(10)
    broken = false
    clock.advance(75_000)
    await expect.poll(() => clock.pauses.at(-1)).toBe(10_000)
    broken = true
    running.notify()
    await expect.poll(() => clock.pauses.length).toBe(12)
    expect(clock.pauses.at(-1)).toBeLessThanOrEqual(1_250)
  })
})
