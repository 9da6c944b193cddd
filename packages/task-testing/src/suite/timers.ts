/** Timers are made, changed and read, each in its own scope. */
import { timerKey } from '@taskstream/task-api'
import type { TaskInfo } from '@taskstream/task-api'
import { allPeriodicTasks, occurrenceOf, periodicTasks } from '@taskstream/task-scheduler'
import type { PeriodicTask, PeriodicTaskInfo } from '@taskstream/task-scheduler'
import { expect, test } from 'vitest'
import { codeOf, thrownBy } from './fixture.ts'
import { usePeriodicFixture, start } from './periodic-fixture.ts'
import { part } from './engine.ts'
import type { AnyTransaction, Part } from './engine.ts'

export const timers: Part = part('timers', (engine) => {
  const fixture = usePeriodicFixture(engine)

  test('are kept as they were given, and read back', async () => {
    const given: PeriodicTask = {
      id: 'häagen/"dazs" %\' ',
      timer: 'Mon..Fri *-*-* 09:00:00 Europe/Oslo',
      topic: fixture.fixture.topic,
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
    await fixture.fixture.commit<void>((transaction) => fixture.timers.add(transaction, given))
    expect(await fixture.info(given.id)).toEqual({
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
    expect(await fixture.list()).toEqual([await fixture.info(given.id)])
  })

  test('that are to be left out hide no other that is due, however many they are', async () => {
    const { commit, tasks } = fixture.fixture
    const others = Array.from({ length: 16 }, (_, index) => `${index}`)
    for (const id of others) await fixture.schedule({ id })
    fixture.at('2026-01-05T09:30:00.000Z')
    await fixture.schedule()
    fixture.at('2026-01-05T10:00:00.000Z')
    const without = new Set(others.map((id) => timerKey({ scope: 'system', id })))
    expect(await commit((transaction) => tasks.timers.lockDue(transaction, without))).toMatchObject({ id: 'report' })
    fixture.at('2026-01-05T09:59:00.000Z')
    expect(await commit((transaction) => tasks.timers.lockDue(transaction, without))).toEqual({
      outcome: 'idle',
      afterMs: 60_000,
    })
  })

  test('are removed by their name only if they have it', async () => {
    const { commit, tasks } = fixture.fixture
    await fixture.schedule({ name: 'close' })
    for (const [name, left] of [
      ['open', 1],
      ['close', 0],
    ] as const) {
      await commit((transaction) => tasks.timers.remove(transaction, { scope: 'system', id: 'report' }, name))
      expect(await fixture.list()).toHaveLength(left)
    }
  })

  test("are part of the caller's transaction", async () => {
    const undo = new Error('undo')
    await expect(
      fixture.fixture.commit(async (transaction) => {
        await fixture.timers.add(transaction, fixture.hourly())
        throw undo
      }),
    ).rejects.toBe(undo)
    expect(await fixture.info()).toBeUndefined()
  })

  test('are changed without losing their place, unless when they fire is changed', async () => {
    expect(await fixture.schedule()).toBe('added')
    expect(await fixture.schedule()).toBe('unchanged')
    fixture.at('2026-01-05T09:30:00.000Z')
    expect(await fixture.schedule({ input: 'other' })).toBe('changed')
    // The occurrence that was due before is still due.
    expect(await fixture.info()).toMatchObject({
      input: 'other',
      next: new Date('2026-01-05T09:00:00.000Z'),
      changed: fixture.now,
      created: start,
    })
    expect(await fixture.schedule({ timer: 'daily' })).toBe('changed')
    expect((await fixture.info()).next).toEqual(new Date('2026-01-06T00:00:00.000Z'))
  })

  test('rest while they are paused, and do not make up for it', async () => {
    await fixture.schedule({ misfire: 'catch-up' })
    const verb = (name: 'pause' | 'resume'): Promise<boolean> =>
      fixture.fixture.commit<boolean>((transaction) => fixture.timers[name](transaction, 'report'))
    expect(await verb('resume')).toBe(false)
    expect(await verb('pause')).toBe(true)
    expect(await verb('pause')).toBe(false)
    fixture.at('2026-01-05T12:30:00.000Z')
    expect(await fixture.fireOnce()).toEqual({ outcome: 'idle' })
    // A deployment leaves paused timers paused.
    expect(await fixture.schedule({ misfire: 'catch-up', timer: '*:15' })).toBe('changed')
    expect(await fixture.info()).toMatchObject({ status: 'paused', timer: '*:15' })
    expect(await verb('resume')).toBe(true)
    expect(await fixture.info()).toMatchObject({ status: 'running', next: new Date('2026-01-05T13:15:00.000Z') })
    expect(await fixture.schedule({ misfire: 'catch-up', timer: '*:15', paused: true })).toBe('changed')
    expect(await fixture.schedule({ misfire: 'catch-up', timer: '*:15', paused: false })).toBe('changed')
    expect((await fixture.info()).status).toBe('running')
  })

  test('are paused and resumed all at once, those of the scope', async () => {
    const other = fixture.scoped('other')
    await fixture.schedule({ id: 'a' })
    await fixture.schedule({ id: 'b', paused: true })
    await fixture.fixture.commit((transaction) => other.schedule(transaction, fixture.hourly({ id: 'a' })))
    expect(await fixture.fixture.commit<number>((transaction) => fixture.timers.pauseAll(transaction))).toBe(1)
    expect((await fixture.info('a', other)).status).toBe('running')
    expect(await fixture.fixture.commit<number>((transaction) => fixture.timers.resumeAll(transaction))).toBe(2)
    expect((await fixture.info('b')).status).toBe('running')
  })

  test('can be run by hand, which leaves their next occurrence as it is', async () => {
    await fixture.schedule()
    const before = await fixture.info()
    const run = (): Promise<unknown> =>
      fixture.fixture.commit<unknown>((transaction) => fixture.timers.runNow(transaction, 'report'))
    const { submitted } = (await run()) as { submitted: TaskInfo }
    expect(submitted).toMatchObject({ topic: fixture.fixture.topic, outcome: 'created' })
    expect(await fixture.info()).toEqual({ ...before, last: { topic: fixture.fixture.topic, sequence: submitted.sequence } })
    expect(await run()).toEqual({ unfinished: submitted.sequence })
    fixture.at('2026-01-05T09:00:00.000Z')
    expect(await fixture.fireAll()).toEqual(['unfinished 09:00'])
    await fixture.finish()
    expect(await run()).toMatchObject({ submitted: { outcome: 'created' } })
    expect(occurrenceOf((await fixture.fixture.page())[0]!)).toBeUndefined()
  })

  test('belong to a scope, and nothing reaches those of another', async () => {
    const hers = fixture.scoped('acme/ann')
    await fixture.schedule()
    await fixture.fixture.commit((transaction) => hers.schedule(transaction, fixture.hourly({ timer: 'daily', input: 'hers' })))
    expect(await fixture.info()).toMatchObject({ timer: 'hourly' })
    for (const verb of ['pause', 'remove'] as const)
      await fixture.fixture.commit((transaction) => hers[verb](transaction, 'report') as unknown)
    expect(await fixture.info()).toMatchObject({ status: 'running' })
    await fixture.fixture.commit((transaction) => hers.schedule(transaction, fixture.hourly()))
    fixture.at('2026-01-05T09:00:00.000Z')
    expect(await fixture.fireAll()).toEqual(['submitted 09:00', 'submitted 09:00'])
    const all = allPeriodicTasks(fixture.fixture.tasks)
    const everyone = await fixture.fixture.commit<PeriodicTaskInfo[]>((transaction) => all(transaction))
    expect(everyone.map(({ scope, id }) => `${scope} ${id}`)).toEqual(['acme/ann report', 'system report'])
  })

  test('whose names run into each other are still told apart', async () => {
    const left = fixture.scoped('a/b')
    const right = fixture.scoped('a')
    await fixture.fixture.commit((transaction) => left.schedule(transaction, fixture.hourly({ id: 'c' })))
    await fixture.fixture.commit((transaction) => right.schedule(transaction, fixture.hourly({ id: 'b/c' })))
    fixture.at('2026-01-05T09:00:00.000Z')
    await fixture.fireAll()
    expect((await fixture.fixture.page()).map((task) => occurrenceOf(task)?.scope).toSorted()).toEqual(['a', 'a/b'])
  })

  test('are reconciled with what an application declares', async () => {
    const declare = (tasks: PeriodicTask[], undeclared?: 'report' | 'remove'): Promise<unknown> =>
      fixture.fixture.commit((transaction) =>
        fixture.timers.reconcile(transaction, 'billing', tasks, undeclared ? { undeclared } : {}),
      )
    await fixture.schedule({ id: 'by hand' })
    expect(await declare([fixture.hourly({ id: 'b' }), fixture.hourly({ id: 'a' })])).toEqual({
      added: ['a', 'b'],
      changed: [],
      unchanged: [],
      undeclared: [],
    })
    const next = [fixture.hourly({ id: 'b', timer: 'daily' }), fixture.hourly({ id: 'c' })]
    expect(await declare(next)).toEqual({ added: ['c'], changed: ['b'], unchanged: [], undeclared: ['a'] })
    expect(await fixture.info('a')).toMatchObject({ status: 'running', application: 'billing' })
    expect(await declare(next, 'remove')).toEqual({ added: [], changed: [], unchanged: ['b', 'c'], undeclared: ['a'] })
    expect(await fixture.info('a')).toBeUndefined()
    expect(await fixture.info('by hand')).toBeDefined()
  })

  test('are reconciled all or none: nothing is written before each declaration was found good', async () => {
    await fixture.schedule({ id: 'c', maxCount: 2, whileUnfinished: 'push' })
    fixture.at('2026-01-05T09:00:00.000Z')
    await fixture.fireAll()
    const before = await fixture.list()
    const good = [fixture.hourly({ id: 'a' }), fixture.hourly({ id: 'c', timer: 'daily' })]
    const refused: [PeriodicTask, object][] = [
      [fixture.hourly({ id: 'e', maxCount: 0 }), { code: 'ARGUMENT_INVALID', data: { argument: 'maxCount' } }],
      [fixture.hourly({ id: 'a' }), { code: 'ARGUMENT_INVALID', data: { argument: 'id' } }],
      [fixture.hourly({ id: 'e', timer: '2026-01-05 08:00' }), { code: 'ARGUMENT_INVALID', data: { argument: 'timer' } }],
      [fixture.hourly({ id: 'e', timer: 'Tues 09:00' }), { code: 'TIMER_INVALID' }],
      [fixture.hourly({ id: 'e', topic: 'never-there' }), { code: 'TOPIC_UNKNOWN', data: { topic: 'never-there' } }],
    ]
    // The transaction commits, so that what was written before the refusal would be seen.
    const declare = (tasks: PeriodicTask[]): Promise<unknown> =>
      fixture.fixture.commit((transaction) =>
        thrownBy(() => fixture.timers.reconcile(transaction, 'billing', tasks, { undeclared: 'remove' })),
      )
    for (const [bad, error] of refused) {
      expect(await declare([...good, bad])).toMatchObject(error)
      expect(await fixture.list()).toEqual(before)
    }
    // A timer that is there already is refused by how often it has fired.
    expect(await declare([fixture.hourly({ id: 'a' }), fixture.hourly({ id: 'c', maxCount: 1 })])).toMatchObject({
      code: 'ARGUMENT_INVALID',
      data: { argument: 'maxCount' },
    })
    expect(await fixture.list()).toEqual(before)
    expect(await declare(good)).toMatchObject({ added: ['a'], changed: ['c'] })
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
    // The transaction commits, so that what was stored before the refusal would be seen.
    const schedule = (more: object): Promise<unknown> =>
      fixture.fixture.commit((transaction) => thrownBy(() => fixture.timers.schedule(transaction, fixture.hourly(more))))
    for (const [more, argument] of refused)
      expect([more, await schedule(more)]).toMatchObject([more, { code: 'ARGUMENT_INVALID', data: { argument } }])
    expect(await schedule({ topic: 'never-there' })).toMatchObject({ code: 'TOPIC_UNKNOWN' })
    expect(await schedule({ timer: 'Tues 09:00' })).toMatchObject({ code: 'TIMER_INVALID' })
    expect(await fixture.list()).toEqual([])
    // A timer that is there already is not moved to a topic that is not.
    await fixture.schedule()
    const before = await fixture.list()
    expect(await schedule({ topic: 'never-there' })).toMatchObject({ code: 'TOPIC_UNKNOWN', data: { topic: 'never-there' } })
    expect(await fixture.list()).toEqual(before)
    expect(await codeOf(() => periodicTasks(fixture.fixture.tasks, { scope: '' }))).toBe('ARGUMENT_INVALID')
  })

  test('that are not there, or are there already, are named', async () => {
    for (const verb of ['pause', 'resume', 'remove', 'runNow'] as const) {
      const error = await fixture.fixture.commit((transaction) => thrownBy(() => fixture.timers[verb](transaction, 'nobody')))
      expect(error).toMatchObject({ code: 'TIMER_UNKNOWN', data: { scope: 'system', id: 'nobody' } })
    }
    await fixture.schedule()
    const before = await fixture.list()
    const again = (transaction: AnyTransaction): unknown => fixture.timers.add(transaction, fixture.hourly({ timer: 'daily' }))
    expect(await fixture.fixture.commit((transaction) => codeOf(() => again(transaction)))).toBe('TIMER_DUPLICATE')
    expect(await fixture.list()).toEqual(before)
  })
})
