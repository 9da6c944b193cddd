/** What the clock submits, and what it does not. */
import { TaskDecision } from '@taskstream/task-api'
import { occurrenceOf } from '@taskstream/task-scheduler'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { minute, openPeriodicFixture } from './periodic-fixture.ts'
import type { PeriodicFixture } from './periodic-fixture.ts'

describe.skipIf(!canRun)('periodic tasks', () => {
  let it: PeriodicFixture
  beforeAll(async () => {
    it = await openPeriodicFixture()
  })
  afterAll(() => it[Symbol.asyncDispose]())
  beforeEach(() => it.reset())

  test('are submitted when they are due, not before, and once', async () => {
    await it.schedule({ input: 'x', identifier: 'books', priority: 4, headers: { a: 1 }, maxTries: 2 })
    expect(await it.fireOnce()).toEqual({ outcome: 'idle', afterMs: 30_000 })
    it.at('2026-01-05T08:59:59.999Z')
    expect(await it.fireOnce()).toEqual({ outcome: 'idle', afterMs: 1 })
    it.at('2026-01-05T09:00:00.000Z')
    expect(await it.fireAll()).toEqual(['submitted 09:00'])
    const [task] = await it.fixture.page()
    expect(task).toMatchObject({ identifier: 'books', input: 'x', priority: 4, headers: { a: 1 }, maxTries: 2, state: 'ready' })
    expect(occurrenceOf(task!)).toEqual({ scope: 'system', id: 'report', at: new Date('2026-01-05T09:00:00.000Z') })
    expect(await it.info()).toMatchObject({
      fired: 1,
      next: new Date('2026-01-05T10:00:00.000Z'),
      last: { topic: it.fixture.topic, sequence: task!.sequence, occurrence: new Date('2026-01-05T09:00:00.000Z') },
    })
  })

  test('are undone with the transaction that fires them', async () => {
    await it.schedule()
    it.at('2026-01-05T09:00:00.000Z')
    const before = await it.info()
    const undo = new Error('undo')
    await expect(
      it.fixture.commit(async (transaction) => {
        expect(await it.fire(transaction)).toMatchObject({ outcome: 'submitted' })
        throw undo
      }),
    ).rejects.toBe(undo)
    expect(await it.info()).toEqual(before)
    expect(await it.fixture.page()).toEqual([])
    expect(await it.fireAll()).toEqual(['submitted 09:00'])
  })

  test('are submitted once for an occurrence, even if their row is set back', async () => {
    await it.schedule({ whileUnfinished: 'push' })
    it.at('2026-01-05T09:00:00.000Z')
    await it.fireAll()
    await it.setBack(it.now)
    expect(await it.fireOnce()).toMatchObject({ outcome: 'submitted', task: { outcome: 'duplicate' } })
    expect(await it.fixture.page()).toHaveLength(1)
  })

  test('skip to the next occurrence while the task before has not ended', async () => {
    await it.schedule()
    it.at('2026-01-05T09:00:00.000Z')
    await it.fireAll()
    it.at('2026-01-05T10:00:00.000Z')
    expect(await it.fireAll()).toEqual(['unfinished 10:00'])
    const held = await it.fixture.poll()
    it.at('2026-01-05T11:00:00.000Z')
    expect(await it.fireAll()).toEqual(['unfinished 11:00'])
    await it.fixture.complete(held, TaskDecision.suspension('later'))
    it.at('2026-01-05T12:00:00.000Z')
    expect(await it.fireAll()).toEqual(['unfinished 12:00'])
    expect(await it.info()).toMatchObject({ fired: 1, skipped: 3 })
    await it.fixture.commit<number>((transaction) => it.fixture.tasks.purgeAll(transaction, it.fixture.topic))
    it.at('2026-01-05T13:00:00.000Z')
    expect(await it.fireAll()).toEqual(['submitted 13:00'])
  })

  test.each([TaskDecision.success(), TaskDecision.failure(), TaskDecision.filter()])('go on after $result', async (decision) => {
    await it.schedule()
    it.at('2026-01-05T09:00:00.000Z')
    await it.fireAll()
    await it.fixture.complete(await it.fixture.poll(), decision)
    it.at('2026-01-05T10:00:00.000Z')
    expect(await it.fireAll()).toEqual(['submitted 10:00'])
  })

  test('are submitted all the same where they are to be', async () => {
    await it.schedule({ whileUnfinished: 'push' })
    for (const hour of ['09', '10']) {
      it.at(`2026-01-05T${hour}:00:00.000Z`)
      await it.fireAll()
    }
    expect(await it.occurrences()).toEqual(['09:00', '10:00'])
  })

  test.each([
    // At a quarter past twelve, after nobody was there since before nine.
    { more: { misfire: 'once' }, expected: ['submitted 09:00'] },
    { more: { misfire: 'once', lateMs: 90 * minute }, expected: ['submitted 11:00'] },
    { more: { misfire: 'skip' }, expected: ['late 09:00'] },
    { more: { misfire: 'skip', lateMs: 15 * minute }, expected: ['submitted 12:00'] },
    { more: { misfire: 'skip', lateMs: 15 * minute - 1 }, expected: ['late 09:00'] },
    { more: { misfire: 'catch-up' }, expected: ['submitted 09:00', 'submitted 10:00', 'submitted 11:00', 'submitted 12:00'] },
    { more: { misfire: 'catch-up', lateMs: 135 * minute }, expected: ['submitted 10:00', 'submitted 11:00', 'submitted 12:00'] },
    { more: { misfire: 'catch-up', lateMs: minute }, expected: ['late 09:00'] },
    { more: { misfire: 'drop', whileUnfinished: 'push', lateMs: 195 * minute - 1 }, expected: ['late 09:00'] },
    {
      more: { misfire: 'drop', whileUnfinished: 'push', lateMs: 195 * minute },
      expected: ['submitted 09:00', 'submitted 10:00', 'submitted 11:00', 'submitted 12:00'],
    },
    { more: { misfire: 'catch-up', maxCount: 2 }, expected: ['submitted 09:00', 'submitted 10:00'] },
    {
      more: { misfire: 'catch-up', end: new Date('2026-01-05T11:00:00Z') },
      expected: ['submitted 09:00', 'submitted 10:00', 'submitted 11:00'],
    },
    { more: { misfire: 'catch-up', whileUnfinished: 'skip' }, expected: ['submitted 09:00', 'unfinished 10:00'] },
  ] as const)('make up for what was missed as they are told: $more', async ({ more, expected }) => {
    await it.schedule(more)
    it.at('2026-01-05T12:15:00.000Z')
    expect(await it.fireAll()).toEqual(expected)
    const { status, next } = await it.info()
    if ('maxCount' in more || 'end' in more) expect(status).toBe('ended')
    else expect(next).toEqual(new Date('2026-01-05T13:00:00.000Z'))
  })

  test('that are dropped as they are late go on with what is due at this very moment', async () => {
    await it.schedule({ misfire: 'drop', lateMs: minute, whileUnfinished: 'push' })
    it.at('2026-01-05T12:00:00.000Z')
    expect(await it.fireAll()).toEqual(['late 09:00', 'submitted 12:00'])
  })

  test('fire within the jitter they are given, every scheduler at the same moment', async () => {
    const due = new Set<number>()
    for (const id of ['a', 'b', 'c', 'd']) {
      await it.schedule({ id, jitterMs: 10 * minute })
      const { next, due: later } = await it.info(id)
      expect(next).toEqual(new Date('2026-01-05T09:00:00.000Z'))
      const jitter = later!.getTime() - next!.getTime()
      expect(jitter).toBeGreaterThanOrEqual(0)
      expect(jitter).toBeLessThanOrEqual(10 * minute)
      due.add(jitter)
    }
    expect(due.size).toBe(4)
    it.at('2026-01-05T09:10:00.000Z')
    expect(await it.fireAll()).toHaveLength(4)
    expect(await it.occurrences()).toEqual(['09:00', '09:00', '09:00', '09:00'])
  })

  test('begin and end when they are told, both included', async () => {
    await it.schedule({ start: new Date('2026-01-05T11:00:00Z'), end: new Date('2026-01-05T12:00:00Z'), whileUnfinished: 'push' })
    expect((await it.info()).next).toEqual(new Date('2026-01-05T11:00:00.000Z'))
    it.at('2026-01-05T11:00:00.000Z')
    expect(await it.fireAll()).toEqual(['submitted 11:00'])
    it.at('2026-01-05T12:00:00.000Z')
    expect(await it.fireAll()).toEqual(['submitted 12:00'])
    expect(await it.info()).toMatchObject({ status: 'ended', note: expect.stringContaining('2026-01-05T12:00:00.000Z') })
    it.at('2026-01-05T13:00:00.000Z')
    expect(await it.fireOnce()).toEqual({ outcome: 'idle' })
  })

  test('end after as many tasks as they are told, skipped occurrences not counted', async () => {
    await it.schedule({ maxCount: 2 })
    it.at('2026-01-05T09:00:00.000Z')
    await it.fireAll()
    it.at('2026-01-05T10:00:00.000Z')
    await it.fireAll()
    await it.finish()
    it.at('2026-01-05T11:00:00.000Z')
    expect(await it.fireOnce()).toMatchObject({ outcome: 'submitted', ended: expect.stringContaining('2 times') })
    expect(await it.info()).toMatchObject({ status: 'ended', fired: 2, skipped: 1 })
  })

  test('end when their timer does', async () => {
    await it.schedule({ timer: '2026-01-05 09:00' })
    it.at('2026-01-05T09:00:00.000Z')
    expect(await it.fireOnce()).toMatchObject({ outcome: 'submitted', ended: expect.stringContaining('never') })
    // And are left alone by the next deployment, which declares them as before.
    expect(await it.schedule({ timer: '2026-01-05 09:00' })).toBe('unchanged')
    // Other times make them begin again.
    expect(await it.schedule({ timer: '2026-01-05 10:00' })).toBe('changed')
    expect(await it.info()).toMatchObject({ status: 'running', next: new Date('2026-01-05T10:00:00.000Z') })
  })
})
