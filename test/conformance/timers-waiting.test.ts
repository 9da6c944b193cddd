/** If two transactions make or change the same timer, the second waits for the first, and acts on its outcome. */
import { firing, periodicTasks } from '@taskstream/task-scheduler'
import type { Fired, FiredOccurrence, PeriodicTask, PeriodicTaskInfo, PeriodicTasks } from '@taskstream/task-scheduler'
import { codeOf, useFixture } from '@taskstream/task-testing/suite'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction, Session } from '../subject.ts'
import { whileWaiting } from './while-waiting.ts'

describe.skipIf(!canRun)('a transaction that waits for another at a timer', () => {
  const fixture = useFixture(engine)
  let timers: PeriodicTasks<AnyTransaction>
  let first: Session
  let second: Session
  let id: string
  beforeAll(async () => {
    first = await fixture.subject.session()
    second = await fixture.subject.session()
    timers = periodicTasks(fixture.tasks) as PeriodicTasks<AnyTransaction>
  })
  beforeEach(async () => {
    id = fixture.topic
    await first.begin()
  })
  afterEach(async () => {
    // The failure of one test must not fail the next one.
    await first.rollback()
    await second.rollback()
  })

  const task = (more: Partial<PeriodicTask> = {}): PeriodicTask => ({ id, timer: 'yearly', topic: fixture.topic, ...more })
  const waited = <Result>(work: () => unknown, end: 'commit' | 'rollback'): Promise<Result> =>
    whileWaiting({ subject: fixture.subject, first, second }, () => work() as Promise<Result>, end)
  const info = (): Promise<PeriodicTaskInfo | undefined> =>
    fixture.commit<PeriodicTaskInfo | undefined>((transaction) => timers.get(transaction, id))

  test.each([
    ['finds it as it is, once that is committed', 'commit', {}, 'unchanged'],
    ['changes it, once that is committed', 'commit', { input: 'mine' }, 'changed'],
    ['adds it, if that is rolled back', 'rollback', {}, 'added'],
  ] as const)('that adds it: schedule %s', async (_, end, more, expected) => {
    expect(await timers.schedule(first.transaction, task())).toBe('added')
    expect(await waited(() => timers.schedule(second.transaction, task(more)), end)).toBe(expected)
    expect(await info()).toMatchObject({ id, ...more })
  })

  test.each([
    ['is refused, once that is committed', 'commit', 'TIMER_DUPLICATE'],
    ['adds it, if that is rolled back', 'rollback', undefined],
  ] as const)('that adds it: add %s', async (_, end, code) => {
    await timers.add(first.transaction, task())
    expect(await codeOf(() => waited(() => timers.add(second.transaction, task()), end))).toBe(code)
  })

  test('that changes it does not lose what that has changed', async () => {
    await fixture.commit((transaction) => timers.add(transaction, task()))
    await timers.pause(first.transaction, id)
    expect(await waited(() => timers.schedule(second.transaction, task({ input: 'mine' })), 'commit')).toBe('changed')
    expect(await info()).toMatchObject({ status: 'paused', input: 'mine' })
  })

  test('that changes it pauses it, alone or with all others', async () => {
    for (const pause of [() => timers.pause(second.transaction, id), () => timers.pauseAll(second.transaction)]) {
      await fixture.commit((transaction) => timers.schedule(transaction, task()))
      await fixture.commit((transaction) => timers.resume(transaction, id))
      await first.rollback()
      await first.begin()
      await timers.schedule(first.transaction, task({ input: 'theirs' }))
      await waited(pause, 'commit')
      expect(await info()).toMatchObject({ status: 'paused', input: 'theirs' })
    }
  })

  test('that fires it meanwhile goes on behind what that has fired', async () => {
    const fire = firing(fixture.tasks) as (transaction: AnyTransaction) => Promise<Fired> | Fired
    await fixture.commit((transaction) => timers.add(transaction, task({ timer: '*:*:*', whileUnfinished: 'push' })))
    await first.rollback()
    await first.begin()
    await fixture.tasks.timers.lock(first.transaction, { scope: 'system', id })
    let fired: Fired | undefined
    const firesThenRuns = async (): Promise<void> => {
      await expect.poll(async () => (fired = await fire(first.transaction)).outcome, { timeout: 10_000 }).toBe('submitted')
      // After a run by hand the timer does not remember its last occurrence.
      await timers.runNow(first.transaction, id)
    }
    await whileWaiting(
      { subject: fixture.subject, first, second },
      () => timers.schedule(second.transaction, task({ timer: '*:*:00/1', whileUnfinished: 'push' })),
      'commit',
      firesThenRuns,
    )
    expect((await info())!.next!.getTime()).toBeGreaterThan((fired as FiredOccurrence).occurrence.getTime())
  })

  test('that removes it makes it anew', async () => {
    await fixture.commit((transaction) => timers.add(transaction, task({ input: 'old' })))
    await timers.remove(first.transaction, id)
    expect(await waited(() => timers.schedule(second.transaction, task({ input: 'new' })), 'commit')).toBe('added')
    expect(await info()).toMatchObject({ status: 'running', input: 'new' })
  })
})
