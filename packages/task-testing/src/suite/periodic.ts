/** Which occurrences of a timer are submitted, and which are not. */
import { TaskDecision } from '@taskstream/task-api'
import { occurrenceOf } from '@taskstream/task-scheduler'
import { expect, test } from 'vitest'
import { minute, usePeriodicFixture } from './periodic-fixture.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'

export const periodic: Part = part('periodic tasks', (engine) => {
  const fixture = usePeriodicFixture(engine)

  test('are submitted when they are due, not before, and once', async () => {
    await fixture.schedule({ input: 'x', identifier: 'books', priority: 4, headers: { a: 1 }, maxTries: 2 })
    expect(await fixture.fireOnce()).toEqual({ outcome: 'idle', afterMs: 30_000 })
    fixture.at('2026-01-05T08:59:59.999Z')
    expect(await fixture.fireOnce()).toEqual({ outcome: 'idle', afterMs: 1 })
    fixture.at('2026-01-05T09:00:00.000Z')
    expect(await fixture.fireAll()).toEqual(['submitted 09:00'])
    const [task] = await fixture.fixture.page()
    expect(task).toMatchObject({ identifier: 'books', input: 'x', priority: 4, headers: { a: 1 }, maxTries: 2, state: 'ready' })
    expect(occurrenceOf(task!)).toEqual({ scope: 'system', id: 'report', at: new Date('2026-01-05T09:00:00.000Z') })
    expect(await fixture.info()).toMatchObject({
      fired: 1,
      next: new Date('2026-01-05T10:00:00.000Z'),
      last: { topic: fixture.fixture.topic, sequence: task!.sequence, occurrence: new Date('2026-01-05T09:00:00.000Z') },
    })
  })

  test('are undone with the transaction that fires them', async () => {
    await fixture.schedule()
    fixture.at('2026-01-05T09:00:00.000Z')
    const before = await fixture.info()
    const undo = new Error('undo')
    await expect(
      fixture.fixture.commit(async (transaction) => {
        expect(await fixture.fire(transaction)).toMatchObject({ outcome: 'submitted' })
        throw undo
      }),
    ).rejects.toBe(undo)
    expect(await fixture.info()).toEqual(before)
    expect(await fixture.fixture.page()).toEqual([])
    expect(await fixture.fireAll()).toEqual(['submitted 09:00'])
  })

  test('are submitted once for an occurrence, even if their row is set back', async () => {
    await fixture.schedule({ whileUnfinished: 'push' })
    fixture.at('2026-01-05T09:00:00.000Z')
    await fixture.fireAll()
    await fixture.setBack(fixture.now)
    expect(await fixture.fireOnce()).toMatchObject({ outcome: 'submitted', task: { outcome: 'duplicate' } })
    expect(await fixture.fixture.page()).toHaveLength(1)
  })

  test('skip to the next occurrence while the task before has not ended', async () => {
    await fixture.schedule()
    fixture.at('2026-01-05T09:00:00.000Z')
    await fixture.fireAll()
    fixture.at('2026-01-05T10:00:00.000Z')
    expect(await fixture.fireAll()).toEqual(['unfinished 10:00'])
    const held = await fixture.fixture.poll()
    fixture.at('2026-01-05T11:00:00.000Z')
    expect(await fixture.fireAll()).toEqual(['unfinished 11:00'])
    await fixture.fixture.complete(held, TaskDecision.suspension('later'))
    fixture.at('2026-01-05T12:00:00.000Z')
    expect(await fixture.fireAll()).toEqual(['unfinished 12:00'])
    expect(await fixture.info()).toMatchObject({ fired: 1, skipped: 3 })
    await fixture.fixture.commit<number>((transaction) => fixture.fixture.tasks.purgeAll(transaction, fixture.fixture.topic))
    fixture.at('2026-01-05T13:00:00.000Z')
    expect(await fixture.fireAll()).toEqual(['submitted 13:00'])
  })

  test.each([TaskDecision.success(), TaskDecision.failure(), TaskDecision.filter()])('go on after $result', async (decision) => {
    await fixture.schedule()
    fixture.at('2026-01-05T09:00:00.000Z')
    await fixture.fireAll()
    await fixture.fixture.complete(await fixture.fixture.poll(), decision)
    fixture.at('2026-01-05T10:00:00.000Z')
    expect(await fixture.fireAll()).toEqual(['submitted 10:00'])
  })

  test('are submitted all the same where they are to be', async () => {
    await fixture.schedule({ whileUnfinished: 'push' })
    for (const hour of ['09', '10']) {
      fixture.at(`2026-01-05T${hour}:00:00.000Z`)
      await fixture.fireAll()
    }
    expect(await fixture.occurrences()).toEqual(['09:00', '10:00'])
  })

  test.each([
    // The timers are fired at 12:15, and no scheduler ran since before 09:00.
    { more: { misfire: 'once' }, expected: ['submitted 09:00'] },
    { more: { misfire: 'once', lateMs: 90 * minute }, expected: ['submitted 11:00'] },
    { more: { misfire: 'skip' }, expected: ['late 09:00'] },
    { more: { misfire: 'skip', lateMs: 15 * minute }, expected: ['submitted 12:00'] },
    { more: { misfire: 'skip', lateMs: 15 * minute - 1 }, expected: ['late 09:00'] },
    { more: { misfire: 'catch-up' }, expected: ['submitted 09:00', 'submitted 10:00', 'submitted 11:00', 'submitted 12:00'] },
    { more: { misfire: 'catch-up', lateMs: 135 * minute }, expected: ['submitted 10:00', 'submitted 11:00', 'submitted 12:00'] },
    { more: { misfire: 'catch-up', lateMs: minute }, expected: ['late 09:00'] },
    { more: { misfire: 'drop', lateMs: 195 * minute - 1 }, expected: ['late 09:00'] },
    {
      more: { misfire: 'drop', lateMs: 195 * minute },
      expected: ['submitted 09:00', 'submitted 10:00', 'submitted 11:00', 'submitted 12:00'],
    },
    {
      more: { misfire: 'drop', whileUnfinished: 'skip', lateMs: 195 * minute },
      expected: ['submitted 09:00', 'unfinished 10:00'],
    },
    { more: { misfire: 'catch-up', maxCount: 2 }, expected: ['submitted 09:00', 'submitted 10:00'] },
    {
      more: { misfire: 'catch-up', end: new Date('2026-01-05T11:00:00Z') },
      expected: ['submitted 09:00', 'submitted 10:00', 'submitted 11:00'],
    },
    { more: { misfire: 'catch-up', whileUnfinished: 'skip' }, expected: ['submitted 09:00', 'unfinished 10:00'] },
  ] as const)('make up for what was missed as they are told: $more', async ({ more, expected }) => {
    await fixture.schedule(more)
    fixture.at('2026-01-05T12:15:00.000Z')
    expect(await fixture.fireAll()).toEqual(expected)
    const { status, next } = await fixture.info()
    if ('maxCount' in more || 'end' in more) expect(status).toBe('ended')
    else expect(next).toEqual(new Date('2026-01-05T13:00:00.000Z'))
  })

  test('that are dropped as they are late go on with what is due at this very moment', async () => {
    await fixture.schedule({ misfire: 'drop', lateMs: minute })
    fixture.at('2026-01-05T12:00:00.000Z')
    expect(await fixture.fireAll()).toEqual(['late 09:00', 'submitted 12:00'])
  })

  test('fire within the jitter they are given, every scheduler at the same moment', async () => {
    const due = new Set<number>()
    for (const id of ['a', 'b', 'c', 'd']) {
      await fixture.schedule({ id, jitterMs: 10 * minute })
      const { next, due: later } = await fixture.info(id)
      expect(next).toEqual(new Date('2026-01-05T09:00:00.000Z'))
      const jitter = later!.getTime() - next!.getTime()
      expect(jitter).toBeGreaterThanOrEqual(0)
      expect(jitter).toBeLessThanOrEqual(10 * minute)
      due.add(jitter)
    }
    expect(due.size).toBe(4)
    fixture.at('2026-01-05T09:10:00.000Z')
    expect(await fixture.fireAll()).toHaveLength(4)
    expect(await fixture.occurrences()).toEqual(['09:00', '09:00', '09:00', '09:00'])
  })

  test('begin and end when they are told, both included', async () => {
    await fixture.schedule({
      start: new Date('2026-01-05T11:00:00Z'),
      end: new Date('2026-01-05T12:00:00Z'),
      whileUnfinished: 'push',
    })
    expect((await fixture.info()).next).toEqual(new Date('2026-01-05T11:00:00.000Z'))
    fixture.at('2026-01-05T11:00:00.000Z')
    expect(await fixture.fireAll()).toEqual(['submitted 11:00'])
    fixture.at('2026-01-05T12:00:00.000Z')
    expect(await fixture.fireAll()).toEqual(['submitted 12:00'])
    expect(await fixture.info()).toMatchObject({ status: 'ended', note: expect.stringContaining('2026-01-05T12:00:00.000Z') })
    fixture.at('2026-01-05T13:00:00.000Z')
    expect(await fixture.fireOnce()).toEqual({ outcome: 'idle' })
  })

  test('end after as many tasks as they are told, skipped occurrences not counted', async () => {
    await fixture.schedule({ maxCount: 2 })
    fixture.at('2026-01-05T09:00:00.000Z')
    await fixture.fireAll()
    fixture.at('2026-01-05T10:00:00.000Z')
    await fixture.fireAll()
    await fixture.finish()
    fixture.at('2026-01-05T11:00:00.000Z')
    expect(await fixture.fireOnce()).toMatchObject({ outcome: 'submitted', ended: expect.stringContaining('2 times') })
    expect(await fixture.info()).toMatchObject({ status: 'ended', fired: 2, skipped: 1 })
  })

  test('end when their timer does', async () => {
    await fixture.schedule({ timer: '2026-01-05 09:00' })
    fixture.at('2026-01-05T09:00:00.000Z')
    expect(await fixture.fireOnce()).toMatchObject({ outcome: 'submitted', ended: expect.stringContaining('never') })
    // The next deployment declares the same timer and leaves it ended.
    expect(await fixture.schedule({ timer: '2026-01-05 09:00' })).toBe('unchanged')
    // A timer with other times begins again.
    expect(await fixture.schedule({ timer: '2026-01-05 10:00' })).toBe('changed')
    expect(await fixture.info()).toMatchObject({ status: 'running', next: new Date('2026-01-05T10:00:00.000Z') })
  })
})
