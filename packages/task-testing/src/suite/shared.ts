/** Identifiers of a topic of the order `shared` take turns. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, PollShares, PushedTask, Repair, Task, TaskCreation } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { codeOf, names, openFixture, whileTested } from './fixture.ts'
import { part, testWhere } from './engine.ts'
import type { Part } from './engine.ts'

export const shared: Part = part('a topic whose identifiers share', (engine) => {
  const fixture = whileTested(
    () => openFixture(engine),
    (opened) => opened.nextTopic({ order: 'shared' }),
  )
  const inputs = (tasks: readonly HeldTask[]): unknown[] => tasks.map(({ input }) => input)
  const many = (identifier: string, count: number, options: Partial<TaskCreation> = {}): TaskCreation[] =>
    Array.from({ length: count }, (_, index) => ({ identifier, input: `${identifier}${index + 1}`, ...options }))
  const pollBy = (shares: PollShares, size: number): Promise<HeldTask[]> =>
    fixture.commit<HeldTask[]>((transaction) => fixture.tasks.poll(transaction, fixture.topic, { size, shares }))
  /** Repair corrects nothing where the verbs have kept right what polls go by. */
  const expectRight = async (): Promise<void> =>
    expect(await fixture.commit<Repair>((transaction) => fixture.tasks.repair(transaction, fixture.topic))).toMatchObject({
      corrected: 0,
      listed: 0,
      noted: 0,
      left: 0,
    })

  test('gives each a turn, from poll to poll, however much one of them has pushed before', async () => {
    await fixture.push(...many('a', 6), ...many('c', 1), ...many('b', 2))
    const polled: unknown[] = []
    for (let poll = 0; poll < 9; poll++) polled.push(...inputs(await fixture.poll(1)))
    expect(polled).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4', 'a5', 'a6'])
    expect(await fixture.poll()).toEqual([])
  })

  test('gives each a turn within a poll, and the next poll goes on after the last', async () => {
    await fixture.push(...many('a', 9), ...many('b', 9), ...many('c', 2))
    expect(inputs(await fixture.poll(4))).toEqual(['a1', 'b1', 'c1', 'a2'])
    expect(inputs(await fixture.poll(2))).toEqual(['b2', 'c2'])
    await fixture.push(...many('d', 1))
    expect(inputs(await fixture.poll(4))).toEqual(['d1', 'a3', 'b3', 'a4'])
    expect(inputs(await fixture.poll())).toEqual(['b4', 'a5', 'b5', 'a6', 'b6', 'a7', 'b7', 'a8', 'b8', 'a9', 'b9'])
  })

  test('takes all that is ready, also of one identifier, and more than are read at a time', async () => {
    await fixture.push(...many('a', 1_200), ...many('b', 10, { priority: -1 }))
    const polled = await fixture.poll(2_000)
    expect(polled).toHaveLength(1_210)
    expect(polled.slice(0, 4).map(({ input }) => input)).toEqual(['a1', 'b1', 'a2', 'b2'])
    expect(polled.filter(({ identifier }) => identifier === 'a').map(({ input }) => input)).toEqual(
      many('a', 1_200).map(({ input }) => input),
    )
    await expectRight()
  })

  test('takes four high tasks, then a low one, and those of the other kind while there are none of one', async () => {
    await fixture.push(...many('low', 3, { priority: -5 }).map((task) => ({ ...task, identifier: 'a' })), ...many('a', 6))
    const polled: unknown[] = []
    for (let poll = 0; poll < 3; poll++) polled.push(...inputs(await fixture.poll(2)))
    expect(polled).toEqual(['a1', 'a2', 'a3', 'a4', 'low1', 'a5'])
    expect(inputs(await fixture.poll())).toEqual(['a6', 'low2', 'low3'])
  })

  test('takes high and low tasks in the shares that are asked for', async () => {
    await fixture.push(...many('a', 4), ...many('low', 4, { priority: -1 }).map((task) => ({ ...task, identifier: 'a' })))
    expect(inputs(await pollBy({ high: 1, low: 2 }, 6))).toEqual(['a1', 'low1', 'low2', 'a2', 'low3', 'low4'])
    for (const shares of [
      { high: 0, low: 1 },
      { high: 1, low: 1001 },
      { high: 1.5, low: 1 },
      { high: 1 },
      3,
      { high: 1, low: 1, mid: 1 },
    ])
      expect(await codeOf(() => pollBy(shares as PollShares, 1))).toBe('ARGUMENT_INVALID')
    expect(inputs(await pollBy({ high: 1, low: 2 }, 6))).toEqual(['a3', 'a4'])
  })

  test('takes low tasks of each identifier, however many share', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await fixture.push(...many(name, 10), ...many(name, 10, { priority: -1 }))
    const lowOf = (tasks: readonly HeldTask[]): unknown => names(tasks.filter(({ priority }) => priority < 0)).toSorted()
    expect(lowOf(await fixture.poll(25))).toEqual(['a', 'b', 'c', 'd', 'e'])
    const polled: HeldTask[] = []
    while (polled.length < 25) polled.push(...(await fixture.poll(1)))
    expect(lowOf(polled)).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  test('finds a task in whatever way it has become ready, and in its old place', async () => {
    const rival = await fixture.owner()
    const [, , , delayed, ready, suspended] = await fixture.push(
      ...many('a', 3),
      { identifier: 'b', input: 'delayed', delayMs: 3_600_000 },
      { identifier: 'b', input: 'ready', priority: -1 },
      { identifier: 'c', input: 'suspended', suspended: true },
    )
    await expectRight()
    const reschedule = (task: PushedTask, to: object): Promise<readonly Task[]> =>
      fixture.commit<readonly Task[]>((transaction) => fixture.tasks.reschedule(transaction, fixture.topic, task.sequence, to))
    const [handedBack, expired] = await fixture.poll(2, rival)
    expect(inputs([handedBack!, expired!])).toEqual(['a1', 'ready'])
    await fixture.commit((transaction) => rival.handBack(transaction, fixture.topic, [handedBack!]))
    await expectRight()
    await fixture.commit((transaction) => rival.unregister(transaction))
    await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 60_000, then: 'ready' }))
    await reschedule(delayed!, { delayMs: 0 })
    await reschedule(ready!, { priority: 3 })
    await expectRight()
    await fixture.commit((transaction) => fixture.tasks.junction(transaction, fixture.topic, 'singular', [['c']]))
    await expectRight()
    expect(suspended).toMatchObject({ identifier: 'c' })
    expect(inputs(await fixture.poll())).toEqual(['a1', 'delayed', 'suspended', 'a2', 'ready', 'a3'])
    await expectRight()
  })

  test('finds what is retried, reclaimed, revived and needed no more', async () => {
    const [first] = await fixture.push(...many('a', 2), ...many('b', 2))
    const [a1, b1] = await fixture.poll(2)
    await fixture.complete([a1!], TaskDecision.retry({ afterMs: 0 }))
    await fixture.complete([b1!], TaskDecision.failure('no'))
    await expectRight()
    await expect
      .poll(
        async () =>
          (await fixture.commit<{ promoted: number }>((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic)))
            .promoted,
      )
      .toBe(1)
    await expectRight()
    await fixture.commit((transaction) =>
      fixture.tasks.recreate(transaction, fixture.topic, 'reset', { state: 'failed', size: 9 }),
    )
    expect(first).toMatchObject({ identifier: 'a' })
    expect(inputs(await fixture.poll(3))).toEqual(['a1', 'b1', 'a2'])
    expect(await fixture.commit<number>((transaction) => fixture.tasks.reclaim(transaction, fixture.topic, []))).toBe(3)
    await expectRight()
    expect(inputs(await fixture.poll())).toEqual(['b1', 'a1', 'b2', 'a2'])
  })

  test('sees none that has been cancelled, superseded, put off or dropped', async () => {
    const [, second, third] = await fixture.push(...many('a', 3))
    await fixture.commit((transaction) => fixture.tasks.cancel(transaction, fixture.topic, second!.sequence))
    await fixture.commit((transaction) =>
      fixture.tasks.reschedule(transaction, fixture.topic, third!.sequence, { delayMs: 60_000 }),
    )
    await expectRight()
    expect(inputs(await fixture.poll())).toEqual(['a1'])
    await fixture.push(...many('b', 2))
    await fixture.commit((transaction) =>
      fixture.tasks.push(transaction, fixture.topic, [{ identifier: 'b', input: 'last' }], { insertion: 'supersede' }),
    )
    await expectRight()
    expect(inputs(await fixture.poll())).toEqual(['last'])
  })

  test('is found among thousands of identifiers that have nothing to do', async () => {
    const idle = Array.from({ length: 1_500 }, (_, index) => `idle-${String(index).padStart(4, '0')}`)
    await fixture.push(...idle, { identifier: 'zeal' })
    await fixture.complete(await fixture.poll(1_500))
    expect(names(await fixture.poll(1))).toEqual(['zeal'])
    await fixture.push('idle-0000', 'idle-1499', 'ahead', '\u0001')
    expect(new Set(names(await fixture.poll(4)))).toEqual(new Set(['idle-0000', 'idle-1499', 'ahead', '\u0001']))
    // More of them than a poll walks over.
    const more = Array.from({ length: 2_500 }, (_, index) => `m-${String(index).padStart(4, '0')}`)
    await fixture.push(...more)
    await fixture.complete(await fixture.poll(2_500))
    await fixture.push('m-2400')
    expect(names(await fixture.poll(1))).toEqual(['m-2400'])
  })

  test('gives each its turn in a poll that reads on, too', async () => {
    await fixture.push(...many('a', 50), ...many('b', 50), ...Array.from({ length: 10 }, (_, index) => `c${index}`))
    const polled = names(await fixture.poll(40))
    expect(polled.filter((name) => name === 'a')).toHaveLength(15)
    expect(polled.filter((name) => name === 'b')).toHaveLength(15)
  })

  test('keeps identifiers apart that look alike, or that a database might think equal', async () => {
    const alike = ['a', 'A', 'a ', 'a  ', ' a', 'ä', 'a\u0308', 'á', '\u{1F600}', '\uFFFD', '\uE000', "o'x", '"', '\\', '%', '_']
    const long = [
      'x'.repeat(500),
      `${'x'.repeat(499)}y`,
      'é'.repeat(500),
      '\u{1F600}'.repeat(250),
      '\t',
      '\u00a0',
      'ß',
      'ss',
      '__proto__',
    ]
    const all = [...alike, ...long]
    await fixture.push(...all, ...all)
    const turns: string[] = []
    while (turns.length < all.length) turns.push(...names(await fixture.poll(1)))
    expect(turns.toSorted()).toEqual(all.toSorted())
    expect(names(await fixture.poll(2 * all.length)).toSorted()).toEqual(all.toSorted())
  })

  test('needs identifiers, and no condition', async () => {
    const { tasks, topic } = fixture
    const initialize = (options: object): Promise<unknown> =>
      codeOf(() => fixture.commit((transaction) => tasks.initialize(transaction, `${topic}-other`, options)))
    expect(await initialize({ order: 'shared', keyed: false })).toBe('ARGUMENT_INVALID')
    expect(await initialize({ order: 'shared', condition: 'singular-by-identifier' })).toBe('ARGUMENT_INVALID')
    expect(await initialize({ order: 'shared', keyed: true })).toBe(true)
    expect(await initialize({ order: 'shared' })).toBe(false)
  })

  testWhere(engine.writers > 1)('passes over what another transaction is polling, without waiting', async () => {
    await fixture.push(...many('a', 5), ...many('b', 1))
    const [one, two] = [await fixture.subject.session(), await fixture.subject.session()]
    await one.begin()
    await two.begin()
    const rival = await fixture.owner()
    expect(inputs((await fixture.tasks.poll(one.transaction, fixture.topic, { size: 3 })) as HeldTask[])).toEqual([
      'a1',
      'b1',
      'a2',
    ])
    expect(inputs((await rival.poll(two.transaction, fixture.topic, { size: 2 })) as HeldTask[])).toEqual(['a3', 'a4'])
    await one.rollback()
    expect(inputs((await rival.poll(two.transaction, fixture.topic, { size: 3 })) as HeldTask[])).toEqual(['b1', 'a1', 'a2'])
    await two.commit()
    expect(inputs(await fixture.poll())).toEqual(['a5'])
    await expectRight()
  })

  testWhere(engine.writers > 1)(
    'gives each its turn beside others that have locked its first task, or all that it has',
    async () => {
      await fixture.push(...many('c', 9), ...many('a', 9), ...many('b', 9), 'ab')
      const other = await fixture.subject.session()
      await other.begin()
      expect(names((await fixture.tasks.poll(other.transaction, fixture.topic, { size: 2 })) as HeldTask[])).toEqual(['a', 'ab'])
      const rival = await fixture.owner()
      const turns: string[] = []
      while (turns.length < 9) turns.push(...names(await fixture.poll(1, rival)))
      expect(turns).toEqual(['a', 'b', 'c', 'a', 'b', 'c', 'a', 'b', 'c'])
      expect(names(await fixture.poll(4, rival))).toEqual(['a', 'b', 'c', 'a'])
      expect(await fixture.poll(100, rival)).toHaveLength(13)
      await other.rollback()
      expect(names(await fixture.poll(100, rival)).toSorted()).toEqual(['a', 'ab'])
      await other.begin()
      await fixture.push(...many('a', 9), 'b', 'c', 'd')
      const own = await fixture.owner()
      expect(names((await own.poll(other.transaction, fixture.topic, { size: 1 })) as HeldTask[])).toEqual(['a'])
      expect(names(await fixture.poll(8, await fixture.owner()))).toEqual(['a', 'b', 'c', 'd', 'a', 'a', 'a', 'a'])
      await other.rollback()
      await expectRight()
    },
  )
})
