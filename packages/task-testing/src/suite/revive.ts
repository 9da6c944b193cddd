/** Ended tasks are brought back in their old place, or as new tasks. */
import { TaskDecision } from '@taskstream/task-api'
import type {
  HeldTask,
  RecreatedTask,
  RecreateSelection,
  Redrive,
  RedriveOptions,
  Revivification,
  Task,
} from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { part, testWhere } from './engine.ts'
import type { Part } from './engine.ts'
import { codeOf, names, thrownBy, useFixture } from './fixture.ts'

export const revive: Part = part('bringing tasks back', (engine) => {
  const fixture = useFixture(engine, { topic: { keyed: true } })
  const recreate = (how: Revivification, tasks: Iterable<Task> | RecreateSelection): Promise<RecreatedTask[]> =>
    fixture.commit<RecreatedTask[]>((transaction) => fixture.tasks.recreate(transaction, fixture.topic, how, tasks))
  const redrive = (options: RedriveOptions = {}): Promise<Redrive> =>
    fixture.commit<Redrive>((transaction) => fixture.tasks.redrive(transaction, fixture.topic, options))
  const failed = async (...identifiers: string[]): Promise<HeldTask[]> => {
    await fixture.push(
      ...identifiers.map((identifier) => ({ identifier, input: `of ${identifier}`, reference: `ref ${identifier}` })),
    )
    const held = await fixture.poll(identifiers.length)
    await fixture.complete(held, TaskDecision.failure('no'))
    return held
  }

  test('a reset makes its own row ready, in its old place, with nothing left of how it ended', async () => {
    await fixture.push({ identifier: 'a', input: 'x', externalId: 'e', headers: { h: 1 }, priority: 3, maxTries: 1 }, 'b')
    const [a] = await fixture.poll(1)
    await fixture.complete([a!], TaskDecision.retry({ afterMs: 0 }, 'out of tries'))
    expect((await fixture.page())[0]).toMatchObject({ state: 'failed', reason: 'tries', output: 'out of tries' })
    expect(await recreate('reset', [a!])).toEqual([
      {
        from: { topic: fixture.topic, identifier: 'a', sequence: a!.sequence },
        to: { topic: fixture.topic, identifier: 'a', sequence: a!.sequence },
      },
    ])
    const [row] = await fixture.page()
    expect(row).toMatchObject({
      state: 'ready',
      attempt: 1,
      tries: 0,
      input: 'x',
      externalId: 'e',
      headers: { h: 1 },
      priority: 3,
    })
    for (const gone of ['owner', 'output', 'completed', 'started', 'reason'] as const) expect(row?.[gone]).toBeUndefined()
    const [again] = await fixture.poll(1)
    expect(again).toMatchObject({ sequence: a!.sequence, attempt: 2, tries: 1 })
    // The completion of the earlier attempt no longer counts.
    expect((await fixture.complete([a!])).lost).toHaveLength(1)
  })

  test('a new row leaves the old one recreated, with its reference and its external id', async () => {
    const creation = {
      identifier: 'a',
      input: 'x',
      reference: 'r',
      externalId: 'e',
      headers: { h: [1] },
      priority: 4,
      maxTries: 7,
    }
    await fixture.push(creation)
    const [a] = await fixture.poll(1)
    await fixture.complete([a!], TaskDecision.failure('no'))
    const [made] = await recreate('append', [a!])
    expect(made!.to.sequence).toBeGreaterThan(made!.from.sequence)
    const [old, fresh] = await fixture.page()
    expect(old).toMatchObject({ state: 'recreated', descent: 'failed', output: 'no', reference: 'r' })
    expect(old?.externalId).toBeUndefined()
    expect(fresh).toMatchObject({ ...creation, sequence: made!.to.sequence, state: 'ready', attempt: 0, tries: 0 })
    expect(await fixture.push(creation)).toMatchObject([{ outcome: 'duplicate', sequence: made!.to.sequence }])
  })

  test('keeps the order of the tasks, whatever the order they are given in', async () => {
    const [a, b, c] = await failed('a', 'b', 'c')
    const made = await recreate('append', [c!, a!, b!])
    expect(made.map(({ from }) => from.identifier)).toEqual(['a', 'b', 'c'])
    expect(names(await fixture.poll(3))).toEqual(['a', 'b', 'c'])
  })

  test('supersede and replace do to older tasks what a push does', async () => {
    const [first] = await failed('a')
    await fixture.push('a')
    await recreate('supersede', [first!])
    expect((await fixture.page()).map(({ state }) => state)).toEqual(['recreated', 'redundant', 'ready'])
    await fixture.nextTopic({ keyed: true })
    const [one, two] = await failed('a', 'a')
    await recreate('replace', [two!])
    expect((await fixture.page()).map(({ state }) => state)).toEqual(['redundant', 'recreated', 'ready'])
    expect(one).toBeDefined()
  })

  test('selects the first of a state, in a range, so many', async () => {
    const [a, b, c] = await failed('a', 'b', 'c')
    expect((await recreate('reset', { state: 'failed' })).map(({ from }) => from.identifier)).toEqual(['a'])
    expect(await recreate('reset', { state: 'succeeded', size: 10 })).toEqual([])
    expect((await recreate('reset', { state: 'failed', from: c!.sequence, size: 9 })).map(({ from }) => from.sequence)).toEqual([
      c!.sequence,
    ])
    expect(await recreate('reset', { state: 'failed', to: a!.sequence, size: 9 })).toEqual([])
    expect((await recreate('append', { state: 'failed', reference: 'ref b', size: 9 })).map(({ from }) => from.sequence)).toEqual(
      [b!.sequence],
    )
    expect(await recreate('reset', { state: 'failed', size: 9 })).toEqual([])
  })

  test('refuses what has not ended, and does nothing of the call', async () => {
    const [a, c] = await failed('a', 'c')
    const [b] = await fixture.push('b')
    const [active] = await fixture.poll(1)
    const before = await fixture.page()
    // The transaction commits, so that what the verb had written before it threw would be seen.
    const refused = async (tasks: Iterable<Task> | RecreateSelection, how: Revivification = 'reset'): Promise<unknown> => {
      const error = await fixture.commit((transaction) =>
        thrownBy(() => fixture.tasks.recreate(transaction, fixture.topic, how, tasks)),
      )
      expect(await fixture.page()).toEqual(before)
      return error
    }
    const unready = [b!, active!, { ...a!, identifier: 'other' }, { ...a!, sequence: 999_999 }]
    for (const how of ['reset', 'append', 'supersede', 'replace'] as const)
      for (const wrong of unready)
        expect(await refused([c!, wrong], how)).toMatchObject({ code: 'TASK_STATE', data: { tasks: [wrong] } })
    expect(await refused([c!, ...unready.slice(1)])).toMatchObject({ code: 'TASK_STATE', data: { tasks: unready.slice(1) } })
    expect(await refused([c!, a!, a!])).toMatchObject({ code: 'TASK_DUPLICATE', data: { task: a } })
    const invalid = { code: 'ARGUMENT_INVALID' }
    expect(await refused([c!, { ...a!, topic: 'other' }])).toMatchObject(invalid)
    expect(await refused([a!], 'again' as Revivification)).toMatchObject(invalid)
    expect(await refused({ state: 'ready' as 'failed' })).toMatchObject(invalid)
    expect(await refused({} as RecreateSelection)).toMatchObject({ ...invalid, data: { argument: 'state' } })
    expect(await refused({ state: 'failed', from: 2, to: 1 })).toMatchObject(invalid)
    expect(await refused([])).toEqual([])
  })

  test('supersede and replace need a topic that is keyed', async () => {
    await fixture.nextTopic()
    const [a] = await failed('a')
    expect(await codeOf(() => recreate('supersede', [a!]))).toBe('TOPIC_NOT_KEYED')
    expect(await recreate('append', [a!])).toHaveLength(1)
  })

  test('is undone with its transaction', async () => {
    const [a] = await failed('a')
    await codeOf(() =>
      fixture.commit(async (transaction) => {
        await fixture.tasks.recreate(transaction, fixture.topic, 'append', [a!])
        throw new Error('undone')
      }),
    )
    expect((await fixture.page()).map(({ state }) => state)).toEqual(['failed'])
  })

  test('a redrive says what it would do, and does it', async () => {
    const held = await failed('a', 'b', 'c')
    await fixture.push('ok')
    await fixture.complete(await fixture.poll(1))
    const whole = { count: 3, first: held[0]!.sequence, last: held[2]!.sequence }
    expect(await redrive({ dryRun: true })).toEqual(whole)
    expect(await fixture.states()).toEqual({ failed: 3, succeeded: 1 })
    expect(await redrive({ dryRun: true, reference: 'ref b' })).toMatchObject({ count: 1 })
    expect(await redrive({ dryRun: true, limit: 2 })).toEqual({ ...whole, count: 2, last: held[1]!.sequence })
    expect(await fixture.states()).toEqual({ failed: 3, succeeded: 1 })
    expect(await redrive({ identifier: 'b' })).toMatchObject({ count: 1, first: held[1]!.sequence })
    expect(await redrive({ limit: 1 })).toMatchObject({ count: 1, first: held[0]!.sequence })
    expect(await redrive({ completedBefore: new Date(0) })).toEqual({ count: 0 })
    expect(await redrive()).toMatchObject({ count: 1, first: held[2]!.sequence })
    expect(await redrive()).toEqual({ count: 0 })
    expect(names(await fixture.poll(9))).toEqual(['a', 'b', 'c'])
    expect(await redrive({ states: ['succeeded'] })).toMatchObject({ count: 1 })
  })

  test('a redrive of states that are no list, or cannot be brought back, is refused, and names them', async () => {
    await failed('a')
    for (const states of ['failed', null, {}, [undefined], ['failed', 'ready']])
      expect(await thrownBy(() => redrive({ states } as unknown as RedriveOptions))).toMatchObject({
        code: 'ARGUMENT_INVALID',
        data: { argument: 'states' },
      })
    const redriving = async (): Promise<Redrive> =>
      redrive({ states: ['failed', 'ready', 'active'] } as unknown as RedriveOptions)
    await expect(redriving()).rejects.toThrow(/must be of expired, failed, suspended, delayed, filtered, succeeded: "?ready/)
    expect(await fixture.states()).toEqual({ failed: 1 })
  })

  /** Makes one task that waits for a retry, one that waits for its due time, and one that waits for somebody to continue it. */
  const suspended = async (): Promise<HeldTask[]> => {
    await fixture.push('retried', { identifier: 'delayed', delayMs: 60_000 }, 'aside')
    const held = await fixture.poll(2)
    await fixture.complete([held[0]!], TaskDecision.retry({ afterMs: 60_000 }))
    await fixture.complete([held[1]!], TaskDecision.suspension())
    return held
  }
  const states = async (): Promise<string[]> =>
    (await fixture.page()).map(({ identifier, state, due }) => `${identifier} ${due ? 'delayed' : state}`)

  test('what waits for its time is not taken for suspended: it is brought back by its own name only', async () => {
    await suspended()
    expect((await recreate('reset', { state: 'suspended', size: 9 })).map(({ from }) => from.identifier)).toEqual(['aside'])
    expect(await recreate('append', { state: 'suspended', size: 9 })).toEqual([])
    expect(await redrive({ states: ['suspended', 'failed'], dryRun: true })).toEqual({ count: 0 })
    expect(await redrive({ states: ['suspended', 'failed'] })).toEqual({ count: 0 })
    expect(await states()).toEqual(['retried delayed', 'delayed delayed', 'aside ready'])
    expect((await recreate('append', { state: 'delayed' })).map(({ from }) => from.identifier)).toEqual(['retried'])
    expect(await redrive({ states: ['delayed'] })).toMatchObject({ count: 1 })
    expect(await states()).toEqual(['retried recreated', 'delayed ready', 'aside ready', 'retried ready'])
    expect((await fixture.page())[0]).toMatchObject({ descent: 'suspended' })
  })

  test('reassignAll gives no result to what waits for its time, unless it is asked for by its own name', async () => {
    await suspended()
    const all = (from: 'suspended' | 'delayed', to: 'success' | 'suspension'): Promise<number> =>
      fixture.commit<number>((transaction) => fixture.tasks.reassignAll(transaction, fixture.topic, { from, to }))
    expect(await all('suspended', 'success')).toBe(1)
    expect(await states()).toEqual(['retried delayed', 'delayed delayed', 'aside succeeded'])
    // `promoteDue` no longer finds them.
    expect(await all('delayed', 'suspension')).toBe(2)
    expect(await states()).toEqual(['retried suspended', 'delayed suspended', 'aside succeeded'])
    expect(await all('delayed', 'success')).toBe(0)
  })

  test('a task that is given is named by that: it is brought back, or given its result, before its time', async () => {
    const [retried] = await suspended()
    const [, delayed] = await fixture.page()
    await recreate('reset', [retried!])
    await fixture.commit<void>((transaction) =>
      fixture.tasks.reassign(transaction, fixture.topic, new Map<Task, 'filter'>([[delayed!, 'filter']])),
    )
    expect(await states()).toEqual(['retried ready', 'delayed filtered', 'aside suspended'])
  })

  test('of several tasks of one identifier only the last is made ready by supersede and replace, as by a push', async () => {
    for (const condition of ['none', 'singular-by-identifier'] as const) {
      for (const how of ['supersede', 'replace'] as const) {
        await fixture.nextTopic({ keyed: true, condition })
        await fixture.push(
          { identifier: 'a', input: '1', externalId: 'x' },
          { identifier: 'b', input: '2' },
          { identifier: 'a', input: '3' },
          { identifier: 'a', input: '4' },
        )
        for (let ended = 0; ended < 4;) {
          const batch = await fixture.poll(9)
          await fixture.complete(batch, TaskDecision.failure())
          ended += batch.length
        }
        const made = await recreate(how, { state: 'failed', size: 9 })
        expect(made.map(({ from, to }) => [from.identifier, to.identifier, to.sequence > from.sequence])).toEqual(
          ['a', 'b', 'a', 'a'].map((identifier) => [identifier, identifier, true]),
        )
        const rows = (await fixture.page()).slice(4)
        expect(rows.map(({ sequence }) => sequence)).toEqual(made.map(({ to }) => to.sequence))
        expect(rows.map(({ identifier, input, state, descent }) => `${identifier}${input} ${state} ${descent}`)).toEqual([
          'a1 redundant ready',
          'b2 ready ready',
          'a3 redundant ready',
          'a4 ready ready',
        ])
        expect(rows[0]).toMatchObject({ externalId: 'x' })
        expect(names(await fixture.poll(9))).toEqual(['b', 'a'])
      }
    }
    await fixture.nextTopic({ keyed: true })
    await failed('a', 'a')
    await recreate('append', { state: 'failed', size: 9 })
    expect(await fixture.states()).toEqual({ recreated: 2, ready: 2 })
  })

  test('supersede makes what waits for its time redundant, as a push does', async () => {
    const [first] = await failed('a')
    await fixture.push({ identifier: 'a', delayMs: 60_000 }, { identifier: 'a', suspended: true })
    await recreate('supersede', [first!])
    expect((await fixture.page()).map(({ state, descent }) => `${state} ${descent}`)).toEqual([
      'recreated failed',
      'redundant suspended',
      'suspended suspended',
      'ready ready',
    ])
  })

  testWhere(engine.writers > 1)('a selection passes over what another transaction is working on', async () => {
    await failed('a', 'b')
    const session = await fixture.subject.session()
    await session.begin()
    await fixture.tasks.recreate(session.transaction, fixture.topic, 'reset', { state: 'failed' })
    expect((await recreate('reset', { state: 'failed', size: 9 })).map(({ from }) => from.identifier)).toEqual(['b'])
    expect(await redrive()).toEqual({ count: 0 })
    await session.rollback()
    expect(await redrive()).toMatchObject({ count: 1 })
  })
})
