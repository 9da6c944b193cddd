/** Making, changing and looking at timers, for each of those they belong to. */
import type { TaskInfo } from '@taskstream/task-api'
import { allPeriodicTasks, occurrenceOf, periodicTasks, typedTasks } from '@taskstream/task-scheduler'
import type { PeriodicTask, PeriodicTaskInfo, TypedTaskInfo } from '@taskstream/task-scheduler'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { codeOf } from './fixture.ts'
import { openPeriodicFixture, start } from './periodic-fixture.ts'
import type { PeriodicFixture } from './periodic-fixture.ts'

describe.skipIf(!canRun)('timers', () => {
  let it: PeriodicFixture
  beforeAll(async () => {
    it = await openPeriodicFixture()
  })
  afterAll(() => it[Symbol.asyncDispose]())
  beforeEach(() => it.reset())

  test('are kept as they were given, and read back', async () => {
    const given: PeriodicTask = {
      id: 'häagen/"dazs" %\' ',
      timer: 'Mon..Fri *-*-* 09:00:00 Europe/Oslo',
      topic: it.fixture.topic,
      name: 'close',
      summary: 'Closes the day',
      identifier: 'books',
      input: '{"a":1}',
      headers: { tenant: 'acme', deep: { list: [1, null] } },
      priority: -3,
      maxTries: 5,
      misfire: 'catch-up',
      lateMs: 3_600_000,
      whileUnfinished: 'skip',
      jitterMs: 0,
      start: new Date('2026-02-01T00:00:00.001Z'),
      end: new Date('2027-02-01T00:00:00.000Z'),
      maxCount: 7,
    }
    await it.fixture.commit<void>((transaction) => it.timers.add(transaction, given))
    expect(await it.info(given.id)).toEqual({
      ...given,
      scope: 'system',
      status: 'running',
      fired: 0,
      skipped: 0,
      next: new Date('2026-02-02T08:00:00.000Z'),
      due: new Date('2026-02-02T08:00:00.000Z'),
      created: start,
      changed: start,
    })
    expect(await it.list()).toEqual([await it.info(given.id)])
  })

  test("are part of the caller's transaction", async () => {
    const undo = new Error('undo')
    await expect(
      it.fixture.commit(async (transaction) => {
        await it.timers.add(transaction, it.hourly())
        throw undo
      }),
    ).rejects.toBe(undo)
    expect(await it.info()).toBeUndefined()
  })

  test('are changed without losing their place, unless when they fire is changed', async () => {
    expect(await it.schedule()).toBe('added')
    expect(await it.schedule()).toBe('unchanged')
    it.at('2026-01-05T09:30:00.000Z')
    expect(await it.schedule({ input: 'other' })).toBe('changed')
    // What was due before still is.
    expect(await it.info()).toMatchObject({
      input: 'other',
      next: new Date('2026-01-05T09:00:00.000Z'),
      changed: it.now,
      created: start,
    })
    expect(await it.schedule({ timer: 'daily' })).toBe('changed')
    expect((await it.info()).next).toEqual(new Date('2026-01-06T00:00:00.000Z'))
  })

  test('rest while they are paused, and do not make up for it', async () => {
    await it.schedule({ misfire: 'catch-up' })
    const verb = (name: 'pause' | 'resume'): Promise<boolean> =>
      it.fixture.commit<boolean>((transaction) => it.timers[name](transaction, 'report'))
    expect(await verb('resume')).toBe(false)
    expect(await verb('pause')).toBe(true)
    expect(await verb('pause')).toBe(false)
    it.at('2026-01-05T12:30:00.000Z')
    expect(await it.fireOnce()).toEqual({ outcome: 'idle' })
    // A deployment leaves them paused.
    expect(await it.schedule({ misfire: 'catch-up', timer: '*:15' })).toBe('changed')
    expect(await it.info()).toMatchObject({ status: 'paused', timer: '*:15' })
    expect(await verb('resume')).toBe(true)
    expect(await it.info()).toMatchObject({ status: 'running', next: new Date('2026-01-05T13:15:00.000Z') })
    expect(await it.schedule({ misfire: 'catch-up', timer: '*:15', paused: true })).toBe('changed')
    expect(await it.schedule({ misfire: 'catch-up', timer: '*:15', paused: false })).toBe('changed')
    expect((await it.info()).status).toBe('running')
  })

  test('are paused and resumed all at once, those of the scope', async () => {
    const other = it.scoped('other')
    await it.schedule({ id: 'a' })
    await it.schedule({ id: 'b', paused: true })
    await it.fixture.commit((transaction) => other.schedule(transaction, it.hourly({ id: 'a' })))
    expect(await it.fixture.commit<number>((transaction) => it.timers.pauseAll(transaction))).toBe(1)
    expect((await it.info('a', other)).status).toBe('running')
    expect(await it.fixture.commit<number>((transaction) => it.timers.resumeAll(transaction))).toBe(2)
    expect((await it.info('b')).status).toBe('running')
  })

  test('can be run by hand, which leaves their next occurrence as it is', async () => {
    await it.schedule()
    const before = await it.info()
    const run = (): Promise<unknown> => it.fixture.commit<unknown>((transaction) => it.timers.runNow(transaction, 'report'))
    const { submitted } = (await run()) as { submitted: TaskInfo }
    expect(submitted).toMatchObject({ topic: it.fixture.topic, outcome: 'created' })
    expect(await it.info()).toEqual({ ...before, last: { topic: it.fixture.topic, sequence: submitted.sequence } })
    expect(await run()).toEqual({ unfinished: submitted.sequence })
    it.at('2026-01-05T09:00:00.000Z')
    expect(await it.fireAll()).toEqual(['unfinished 09:00'])
    await it.finish()
    expect(await run()).toMatchObject({ submitted: { outcome: 'created' } })
    expect(occurrenceOf((await it.fixture.page())[0]!)).toBeUndefined()
  })

  test('belong to a scope, and nothing reaches those of another', async () => {
    const hers = it.scoped('acme/ann')
    await it.schedule()
    await it.fixture.commit((transaction) => hers.schedule(transaction, it.hourly({ timer: 'daily', input: 'hers' })))
    expect(await it.info()).toMatchObject({ timer: 'hourly' })
    for (const verb of ['pause', 'remove'] as const)
      await it.fixture.commit((transaction) => hers[verb](transaction, 'report') as unknown)
    expect(await it.info()).toMatchObject({ status: 'running' })
    await it.fixture.commit((transaction) => hers.schedule(transaction, it.hourly()))
    it.at('2026-01-05T09:00:00.000Z')
    expect(await it.fireAll()).toEqual(['submitted 09:00', 'submitted 09:00'])
    const all = allPeriodicTasks(it.fixture.tasks)
    const everyone = await it.fixture.commit<PeriodicTaskInfo[]>((transaction) => all(transaction))
    expect(everyone.map(({ scope, id }) => `${scope} ${id}`)).toEqual(['acme/ann report', 'system report'])
  })

  test('whose names run into each other are still told apart', async () => {
    const left = it.scoped('a/b')
    const right = it.scoped('a')
    await it.fixture.commit((transaction) => left.schedule(transaction, it.hourly({ id: 'c' })))
    await it.fixture.commit((transaction) => right.schedule(transaction, it.hourly({ id: 'b/c' })))
    it.at('2026-01-05T09:00:00.000Z')
    await it.fireAll()
    expect((await it.fixture.page()).map((task) => occurrenceOf(task)?.scope).toSorted()).toEqual(['a', 'a/b'])
  })

  test('are reconciled with what an application declares', async () => {
    const declare = (tasks: PeriodicTask[], undeclared?: 'report' | 'remove'): Promise<unknown> =>
      it.fixture.commit((transaction) => it.timers.reconcile(transaction, 'billing', tasks, undeclared ? { undeclared } : {}))
    await it.schedule({ id: 'by hand' })
    expect(await declare([it.hourly({ id: 'b' }), it.hourly({ id: 'a' })])).toEqual({
      added: ['a', 'b'],
      changed: [],
      unchanged: [],
      undeclared: [],
    })
    const next = [it.hourly({ id: 'b', timer: 'daily' }), it.hourly({ id: 'c' })]
    expect(await declare(next)).toEqual({ added: ['c'], changed: ['b'], unchanged: [], undeclared: ['a'] })
    expect(await it.info('a')).toMatchObject({ status: 'running', application: 'billing' })
    expect(await declare(next, 'remove')).toEqual({ added: [], changed: [], unchanged: ['b', 'c'], undeclared: ['a'] })
    expect(await it.info('a')).toBeUndefined()
    expect(await it.info('by hand')).toBeDefined()
    expect(await codeOf(() => declare([it.hourly({ id: 'd' }), it.hourly({ id: 'd' })]))).toBe('ARGUMENT_INVALID')
    expect(await it.info('d')).toBeUndefined()
  })

  test('of a kind carry typed inputs, and are checked on their way in and out', async () => {
    const folder = {
      '~standard': {
        validate: (value: unknown) =>
          typeof (value as { folder?: unknown })?.folder === 'string'
            ? { value: value as { folder: string } }
            : { issues: [{ message: 'must be a string', path: ['folder'] }] },
      },
    }
    const scans = typedTasks(it.fixture.tasks, { scope: 'ann', name: 'scan', topic: it.fixture.topic, input: folder })
    await it.fixture.commit((transaction) =>
      scans.schedule(transaction, { id: 'inbox', timer: 'hourly', input: { folder: 'INBOX' } }),
    )
    const list = (): Promise<TypedTaskInfo<{ folder: string }>[]> => it.fixture.commit((transaction) => scans.list(transaction))
    expect(await list()).toMatchObject([{ id: 'inbox', name: 'scan', scope: 'ann', input: { folder: 'INBOX' } }])
    const wrong = { id: 'sent', timer: 'hourly', input: { folder: 7 as never } }
    await expect(it.fixture.commit((transaction) => scans.schedule(transaction, wrong))).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('folder: must be a string'),
    })
    expect(await list()).toHaveLength(1)
    it.at('2026-01-05T09:00:00.000Z')
    await it.fireAll()
    expect(scans.inputOf((await it.fixture.poll())[0]!)).toEqual({ folder: 'INBOX' })

    const one = { id: 'only', timer: 'daily', input: { folder: 'X' } }
    await it.fixture.commit((transaction) => scans.schedule(transaction, { ...one, id: 'second' }))
    expect(await codeOf(() => it.fixture.commit((transaction) => scans.one(transaction)))).toBe('TIMER_AMBIGUOUS')
    await it.fixture.commit((transaction) => scans.scheduleOne(transaction, one))
    expect(await list()).toMatchObject([{ id: 'inbox', timer: 'daily', input: { folder: 'X' } }])
    // A hand, or a release with another schema, has been here.
    const hers = it.scoped('ann')
    await it.fixture.commit((transaction) =>
      hers.schedule(transaction, it.hourly({ id: 'inbox', name: 'scan', input: 'no json' })),
    )
    expect(await codeOf(list)).toBe('INPUT_INVALID')
    expect(await it.fixture.commit<number>((transaction) => scans.removeAll(transaction))).toBe(1)
  })

  test('that are none are refused before anything is stored', async () => {
    const refused: [Partial<Record<keyof PeriodicTask, unknown>>, string][] = [
      [{ id: '' }, 'id'],
      [{ id: 'x'.repeat(201) }, 'id'],
      [{ topic: '' }, 'topic'],
      [{ identifier: '' }, 'identifier'],
      [{ timer: 7 }, 'timer'],
      [{ timer: '*-02-30' }, 'timer'],
      [{ timer: '2026-01-05 08:00' }, 'timer'],
      [{ end: new Date('2026-01-05T08:59:59Z') }, 'timer'],
      [{ start: new Date('2026-01-06'), end: new Date('2026-01-05') }, 'start'],
      [{ start: new Date(Number.NaN) }, 'start'],
      [{ maxCount: 0 }, 'maxCount'],
      [{ maxCount: 1.5 }, 'maxCount'],
      [{ misfire: 'never' }, 'misfire'],
      [{ whileUnfinished: 'wait' }, 'whileUnfinished'],
      [{ lateMs: -1 }, 'lateMs'],
      [{ jitterMs: 86_400_001 }, 'jitterMs'],
      [{ priority: 40_000 }, 'priority'],
      [{ maxTries: 0 }, 'maxTries'],
      [{ headers: [] }, 'headers'],
      [{ headers: { a: '\0' } }, 'headers'],
      [{ paused: 1 }, 'paused'],
    ]
    for (const [more, argument] of refused) {
      const error = await it.schedule(more as never).then(String, (thrown: unknown) => thrown)
      expect([more, error]).toMatchObject([more, { code: 'ARGUMENT_INVALID', data: { argument } }])
    }
    expect(await codeOf(() => it.schedule({ topic: 'never-there' }))).toBe('TOPIC_UNKNOWN')
    expect(await codeOf(() => it.schedule({ timer: 'Tues 09:00' }))).not.toBe('added')
    expect(await it.list()).toEqual([])
    expect(await codeOf(() => periodicTasks(it.fixture.tasks, { scope: '' }))).toBe('ARGUMENT_INVALID')
  })

  test('that are not there, or are there already, are named', async () => {
    for (const verb of ['pause', 'resume', 'remove', 'runNow'] as const) {
      const error = await it.fixture
        .commit((transaction) => it.timers[verb](transaction, 'nobody') as unknown)
        .catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'TIMER_UNKNOWN', data: { scope: 'system', id: 'nobody' } })
    }
    await it.schedule()
    expect(await codeOf(() => it.fixture.commit((transaction) => it.timers.add(transaction, it.hourly())))).toBe(
      'TIMER_DUPLICATE',
    )
  })
})
