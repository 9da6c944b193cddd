/** A push appends to older tasks of its identifiers, or takes their place. */
import { TaskDecision } from '@taskstream/task-api'
import type { Insertion, PushedTask, TaskCreation } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { codeOf, names, useFixture } from './fixture.ts'
import { part, testWhere } from './engine.ts'
import type { Part } from './engine.ts'

export const insertion: Part = part('a push that takes the place of older tasks', (engine) => {
  const fixture = useFixture(engine, { topic: { keyed: true } })
  const push = (insertion: Insertion, ...creations: (string | TaskCreation)[]): Promise<PushedTask[]> =>
    fixture.commit<PushedTask[]>((transaction) => fixture.tasks.push(transaction, fixture.topic, creations, { insertion }))
  const rows = async (): Promise<string[]> =>
    (await fixture.page()).map(({ identifier, input = '', state, descent }) => `${identifier}${input} ${state} ${descent}`)
  const task = (identifier: string, input: string, more: Partial<TaskCreation> = {}): TaskCreation => ({
    identifier,
    input,
    ...more,
  })

  test('append leaves the older ones as they are', async () => {
    await fixture.push(task('a', '1'))
    expect(await push('append', task('a', '2'), task('a', '3'))).toMatchObject([{ outcome: 'created' }, { outcome: 'created' }])
    expect(await rows()).toEqual(['a1 ready ready', 'a2 ready ready', 'a3 ready ready'])
  })

  test.each([
    ['supersede', { ready: 2, redundant: 1, recreated: 1, succeeded: 1, failed: 1, suspended: 1, filtered: 1, active: 1 }],
    ['replace', { ready: 2, redundant: 5, recreated: 1, active: 1 }],
    ['delete', { ready: 2, active: 1 }],
  ] as const)('%s touches the states that it is about, and never an active task', async (insertion, expected) => {
    await fixture.push(...['1', '2', '3', '4', '5', '6', '7'].map((input) => task('a', input)), 'b')
    const held = (await fixture.poll(6)).toSorted((left, right) => Number(left.input) - Number(right.input))
    const decisions = [TaskDecision.success(), TaskDecision.failure(), TaskDecision.suspension(), TaskDecision.filter()]
    for (const [index, decision] of decisions.entries()) await fixture.complete([held[index]!], decision)
    const [, , , , fifth, active] = held
    await fixture.complete([fifth!], TaskDecision.failure())
    await fixture.commit((transaction) => fixture.tasks.recreate(transaction, fixture.topic, 'append', [fifth!]))
    // Recreating has pushed a successor. It is removed, so that `7` is the only ready task of `a`.
    await fixture.commit((transaction) =>
      fixture.tasks.purge(transaction, fixture.topic, { states: ['ready'], from: active!.sequence + 3 }),
    )
    const [pushed] = await push(insertion, task('a', '9'))
    expect(await fixture.states()).toEqual(expected)
    expect(pushed).toMatchObject({ outcome: 'created', superseded: { supersede: 1, replace: 5, delete: 6 }[insertion] })
    expect((await fixture.complete([active!])).lost).toEqual([])
    expect(names(await fixture.poll(9))).toEqual(['b', 'a'])
  })

  test('keeps what a redundant task was, and what it said', async () => {
    await fixture.push(task('a', '1'), task('a', '2'))
    const [first] = await fixture.poll(1)
    await fixture.complete([first!], TaskDecision.success('said'))
    await push('replace', task('a', '3'))
    expect(await fixture.page()).toMatchObject([
      { state: 'redundant', descent: 'succeeded', output: 'said', owner: fixture.tasks.owner },
      { state: 'redundant', descent: 'ready' },
      { state: 'ready', descent: 'ready' },
    ])
    expect((await fixture.page())[0]?.completed).toBeInstanceOf(Date)
  })

  test('of several creations of one identifier only the last counts', async () => {
    for (const insertion of ['supersede', 'replace'] as const) {
      await fixture.nextTopic({ keyed: true })
      const pushed = await push(insertion, task('a', '1'), task('b', '1'), task('a', '2', { suspended: true }), task('a', '3'))
      expect(pushed.map(({ outcome }) => outcome)).toEqual(['redundant', 'created', 'redundant', 'created'])
      expect(await rows()).toEqual(['a1 redundant ready', 'b1 ready ready', 'a2 redundant suspended', 'a3 ready ready'])
    }
    await fixture.nextTopic({ keyed: true })
    expect(names(await push('delete', task('a', '1'), task('b', '1'), task('a', '2')))).toEqual(['b', 'a'])
    expect(await rows()).toEqual(['b1 ready ready', 'a2 ready ready'])
  })

  test('of several creations of one identifier only the last counts, though each says more than that', async () => {
    for (const insertion of ['supersede', 'replace'] as const) {
      await fixture.nextTopic({ keyed: true })
      const pushed = await push(insertion, ...['1', '2', '3'].map((input) => task('a', input, { priority: 1 })), task('b', '1'))
      expect(pushed.map(({ outcome }) => outcome)).toEqual(['redundant', 'redundant', 'created', 'created'])
    }
  })

  test.each(['supersede', 'replace'] as const)(
    'leaves the task that counts when it is repeated, or names it twice: %s',
    async (insertion) => {
      const creations = [task('a', '1'), task('a', '2', { externalId: 'x' })]
      await push(insertion, ...creations)
      const again = await push(insertion, ...creations)
      expect(again.map(({ outcome, superseded }) => [outcome, superseded])).toEqual([
        ['redundant', undefined],
        ['duplicate', undefined],
      ])
      expect(await fixture.poll(9)).toMatchObject([{ input: '2' }])

      await fixture.nextTopic({ keyed: true })
      const twice = await push(insertion, task('a', '1', { externalId: 'x' }), task('a', '1', { externalId: 'x' }))
      expect(twice.map(({ outcome }) => outcome)).toEqual(['created', 'duplicate'])
      expect(await fixture.poll(9)).toMatchObject([{ input: '1', externalId: 'x' }])
    },
  )

  test('a creation that repeats an external id takes the place of no other creation', async () => {
    for (const insertion of ['supersede', 'replace', 'delete'] as const) {
      await fixture.nextTopic({ keyed: true })
      const x = { externalId: 'x' }
      const pushed = await push(insertion, task('b', '1'), task('a', '2', x), task('b', '3', x))
      expect(pushed.map(({ identifier, outcome }) => `${identifier} ${outcome}`)).toEqual([
        'b created',
        'a created',
        'a duplicate',
      ])
      expect(await rows()).toEqual(['b1 ready ready', 'a2 ready ready'])
    }
  })

  test('takes the place of older tasks even if they are newer than a duplicate beside it', async () => {
    await fixture.push(task('a', '1', { externalId: 'x' }), task('b', '2'))
    const pushed = await push('supersede', task('a', '1', { externalId: 'x' }), task('b', '3'))
    expect(pushed).toMatchObject([{ outcome: 'duplicate' }, { outcome: 'created', superseded: 1 }])
    expect(await rows()).toEqual(['a1 ready ready', 'b2 redundant ready', 'b3 ready ready'])
  })

  test('a delayed task waits no longer once it is replaced', async () => {
    await fixture.push(task('a', '1', { delayMs: 1 }))
    await push('replace', task('a', '2'))
    expect(await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))).toEqual({ promoted: 0 })
    expect(await rows()).toEqual(['a1 redundant suspended', 'a2 ready ready'])
  })

  test('supersede makes redundant what waits for its time, and leaves what waits for somebody', async () => {
    await fixture.push(task('a', '1'))
    await fixture.complete(await fixture.poll(1), TaskDecision.retry({ afterMs: 1 }))
    await fixture.push(
      task('a', '2', { due: new Date(Date.now() + 86_400_000) }),
      task('a', '3', { delayMs: 1 }),
      task('a', '4', { suspended: true }),
      task('b', '5', { delayMs: 60_000 }),
      task('a', '6'),
    )
    await fixture.complete(await fixture.poll(1), TaskDecision.suspension())
    const [pushed] = await push('supersede', task('a', '7'))
    expect(pushed).toMatchObject({ superseded: 3 })
    expect(await rows()).toEqual([
      'a1 redundant suspended',
      'a2 redundant suspended',
      'a3 redundant suspended',
      'a4 suspended suspended',
      'b5 suspended suspended',
      'a6 suspended ready',
      'a7 ready ready',
    ])
    expect((await fixture.page()).map(({ due }) => due !== undefined)).toEqual([false, false, false, false, true, false, false])
  })

  test('the latest of several delayed tasks is the one that comes, each putting off what is to be done', async () => {
    for (const input of ['1', '2', '3']) await push('supersede', task('a', input, { delayMs: input === '3' ? 0 : 1 }))
    expect(await rows()).toEqual(['a1 redundant suspended', 'a2 redundant suspended', 'a3 ready ready'])
  })

  test('what was superseded while it waited for its time is in the way of its identifier no more', async () => {
    for (const insertion of ['supersede', 'replace'] as const) {
      await fixture.nextTopic({ condition: 'singular-by-identifier' })
      await fixture.push(task('a', '1'))
      await fixture.complete(await fixture.poll(1), TaskDecision.retry({ afterMs: 60_000 }))
      await fixture.push(task('a', '2', { delayMs: 60_000 }))
      await push(insertion, task('a', '3'))
      expect(await rows()).toEqual(['a1 redundant suspended', 'a2 redundant suspended', 'a3 ready ready'])
      expect(await fixture.poll(9)).toMatchObject([{ input: '3' }])
    }
  })

  test('what was pushed before by its external id replaces nothing', async () => {
    await fixture.push(task('a', '1', { externalId: 'x' }))
    const [again] = await push('replace', task('a', '1', { externalId: 'x' }))
    expect(again).toMatchObject({ outcome: 'duplicate' })
    expect(await rows()).toEqual(['a1 ready ready'])
  })

  test('knows its own topic and its own identifiers only', async () => {
    const other = fixture.topic
    await fixture.push(task('a', '1'))
    await fixture.nextTopic({ keyed: true })
    await fixture.push(task('A', '1'), task('a ', '1'))
    await push('delete', task('a', '2'))
    expect(await rows()).toEqual(['A1 ready ready', 'a 1 ready ready', 'a2 ready ready'])
    const counts = await fixture.commit<ReadonlyMap<string, unknown>>((transaction) =>
      fixture.tasks.count(transaction, { topic: other }),
    )
    expect([...counts.values()]).toMatchObject([new Map([['ready', { count: 1 }]])])
  })

  test('is undone with its transaction', async () => {
    await fixture.push(task('a', '1'))
    await codeOf(() =>
      fixture.commit(async (transaction) => {
        await fixture.tasks.push(transaction, fixture.topic, task('a', '2'), { insertion: 'delete' })
        throw new Error('undone')
      }),
    )
    expect(await rows()).toEqual(['a1 ready ready'])
  })

  test('is refused by a topic that keeps no index of identifiers, with nothing written', async () => {
    await fixture.nextTopic()
    // The transaction commits, so that what the push had written before it threw would be seen.
    const refusal = (topic: string, insertion: Insertion): Promise<unknown> =>
      fixture.commit((transaction) => codeOf(() => fixture.tasks.push(transaction, topic, 'a', { insertion })))
    await fixture.push('a')
    const before = await fixture.page()
    for (const insertion of ['supersede', 'replace', 'delete'] as const)
      expect(await refusal(fixture.topic, insertion)).toBe('TOPIC_NOT_KEYED')
    expect(await refusal(fixture.topic, 'upsert' as Insertion)).toBe('ARGUMENT_INVALID')
    expect(await fixture.page()).toEqual(before)
    expect(await refusal('nowhere', 'replace')).toBe('TOPIC_UNKNOWN')
  })

  test('works in large batches as in small ones', async () => {
    const identifiers = Array.from({ length: 5_000 }, (_, index) => `i${index}`)
    await push('append', ...identifiers)
    const pushed = await push('supersede', ...identifiers)
    expect(pushed.every(({ superseded }) => superseded === 1)).toBe(true)
    expect(await fixture.states()).toEqual({ ready: 5_000, redundant: 5_000 })
  })

  testWhere(engine.writers > 1)('passes over what another transaction is working on, without waiting', async () => {
    await fixture.push(task('a', '1'), task('a', '2'))
    const session = await fixture.subject.session()
    await session.begin()
    await fixture.tasks.poll(session.transaction, fixture.topic, { size: 1 })
    await push('supersede', task('a', '3'))
    await session.rollback()
    expect(await rows()).toEqual(['a1 ready ready', 'a2 redundant ready', 'a3 ready ready'])
  })

  test('tells of how many it took the place of only for what it has created', async () => {
    await fixture.nextTopic({ keyed: true })
    await fixture.push('a', { identifier: 'b', externalId: 'there' })
    const pushed = await fixture.commit<PushedTask[]>((transaction) =>
      fixture.tasks.push(transaction, fixture.topic, ['a', 'a', { identifier: 'b', externalId: 'there' }, 'c'], {
        insertion: 'supersede',
      }),
    )
    expect(pushed.map(({ outcome, superseded }) => [outcome, superseded])).toEqual([
      ['redundant', undefined],
      ['created', 1],
      ['duplicate', undefined],
      ['created', 0],
    ])
  })
})
