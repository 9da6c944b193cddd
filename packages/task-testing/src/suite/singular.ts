/** No two tasks of one identifier are held at a time, and they keep their order, under each condition and in both orders. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, PollCondition, PollOrder, RecreatedTask, TopicOptions } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { codeOf, names, openFixture, whileTested } from './fixture.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'

const oneOfEach = { condition: 'singular-by-identifier' } as const
const onFailure = { condition: 'singular-by-identifier-suspend-on-failure' } as const
const untilSuccess = { condition: 'singular-by-identifier-suspend-until-success' } as const
const conditions: readonly { readonly condition: PollCondition }[] = [oneOfEach, onFailure, untilSuccess]
const orders: readonly PollOrder[] = ['fifo', 'lifo', 'priority']
const each: readonly Required<Pick<TopicOptions, 'order' | 'condition'>>[] = orders.flatMap((order) =>
  conditions.map(({ condition }) => ({ order, condition })),
)

export const singular: Part = part('a singular condition', (engine) => {
  const fixture = whileTested(() => openFixture(engine))
  /** The transaction in which the verbs of a table below work. */
  let tx: unknown
  const inputs = (tasks: readonly HeldTask[]): string[] => tasks.map(({ identifier, input = '' }) => identifier + input)
  const many = (...tasks: string[]): { identifier: string; input: string }[] =>
    tasks.map((task) => ({ identifier: task[0]!, input: task.slice(1) }))

  test.each(each)('takes one task of each identifier at a time: $order, $condition', async (options) => {
    await fixture.nextTopic(options)
    await fixture.push(...many('a1', 'a2', 'b1', 'a3', 'b2'))
    const expected = { fifo: [['a1', 'b1'], ['a2', 'b2'], ['a3']], lifo: [['b2', 'a3'], ['b1', 'a2'], ['a1']] }
    const [first, second, third] = expected[options.order === 'lifo' ? 'lifo' : 'fifo']
    const one = await fixture.poll(10)
    expect(inputs(one)).toEqual(first)
    expect(await fixture.poll(10)).toEqual([])
    await fixture.complete(one)
    const two = await fixture.poll(10)
    expect(inputs(two)).toEqual(second)
    await fixture.complete(two)
    const three = await fixture.poll(10)
    expect(inputs(three)).toEqual(third)
    await fixture.complete(three)
    expect(await fixture.states()).toEqual({ succeeded: 5 })
  })

  test.each(each)('is blocked by an active task wherever it stands: $order, $condition', async (options) => {
    await fixture.nextTopic(options)
    await fixture.push(...many('a1', 'a2'))
    const [held] = await fixture.poll(10)
    // While one task is held, neither a later push nor a task made ready again, before or after the held one, may be taken.
    await fixture.push(...many('a3'))
    expect(await fixture.poll(10)).toEqual([])
    await fixture.complete([held!], TaskDecision.success())
    await fixture.commit((transaction) => fixture.tasks.recreate(transaction, fixture.topic, 'reset', [held!]))
    const [next] = await fixture.poll(10)
    await fixture.push(...many('a4'))
    expect(await fixture.poll(10)).toEqual([])
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, [next!]))
    expect(await fixture.poll(10)).toHaveLength(1)
    expect(await fixture.poll(10)).toEqual([])
  })

  test.each(each)('is blocked by a task that waits to be retried: $order, $condition', async (options) => {
    await fixture.nextTopic(options)
    await fixture.push(...many('a1', 'a2', 'a3'))
    const [first] = await fixture.poll(1)
    expect(inputs([first!])).toEqual([options.order === 'lifo' ? 'a3' : 'a1'])
    await fixture.complete([first!], TaskDecision.retry({ afterMs: 3_600_000 }))
    expect(await fixture.poll(10)).toEqual([])
    // A later task comes before the waiting one only in a topic of order `lifo`.
    await fixture.push(...many('a4'))
    expect(inputs(await fixture.poll(10))).toEqual(options.order === 'lifo' ? ['a4'] : [])
  })

  test('lets a failure pass, or not, and a suspension pass, or not', async () => {
    const outcomes = async (options: TopicOptions, decision: TaskDecision): Promise<boolean> => {
      await fixture.nextTopic(options)
      await fixture.push(...many('a1', 'a2'))
      await fixture.complete(await fixture.poll(1), decision)
      return (await fixture.poll(10)).length > 0
    }
    for (const order of orders) {
      for (const decision of [TaskDecision.success(), TaskDecision.filter()]) {
        for (const { condition } of conditions) expect(await outcomes({ order, condition }, decision)).toBe(true)
      }
      expect(await outcomes({ order, ...oneOfEach }, TaskDecision.failure())).toBe(true)
      expect(await outcomes({ order, ...onFailure }, TaskDecision.failure())).toBe(false)
      expect(await outcomes({ order, ...untilSuccess }, TaskDecision.failure())).toBe(false)
      expect(await outcomes({ order, ...oneOfEach }, TaskDecision.suspension())).toBe(true)
      expect(await outcomes({ order, ...onFailure }, TaskDecision.suspension())).toBe(true)
      expect(await outcomes({ order, ...untilSuccess }, TaskDecision.suspension())).toBe(false)
    }
  })

  test('a later failure blocks nothing before it', async () => {
    for (const { condition } of [onFailure, untilSuccess]) {
      await fixture.nextTopic({ condition })
      const [late] = await fixture.push({ identifier: 'a', input: '1', suspended: true }, ...many('a2'))
      // A suspended task blocks later ones only under the strictest condition. A failure blocks no earlier task under any.
      if (condition === onFailure.condition) {
        await fixture.complete(await fixture.poll(1), TaskDecision.failure())
        await fixture.commit((transaction) => fixture.tasks.recreate(transaction, fixture.topic, 'reset', [late!]))
        expect(inputs(await fixture.poll(10))).toEqual(['a1'])
      } else {
        expect(await fixture.poll(10)).toEqual([])
        await fixture.commit((transaction) => fixture.tasks.reassign(transaction, fixture.topic, new Map([[late!, 'success']])))
        expect(inputs(await fixture.poll(10))).toEqual(['a2'])
      }
    }
  })

  test('a later failure blocks nothing before it, in any order and under any condition', async () => {
    for (const { order, condition } of each) {
      await fixture.nextTopic({ order, condition })
      await fixture.push(...many('a1', 'a2'))
      const before = await fixture.poll(10)
      await fixture.complete(before)
      const after = await fixture.poll(10)
      await fixture.complete(after, TaskDecision.failure())
      expect([before.length, after.length]).toEqual([1, 1])
      await fixture.commit((transaction) => fixture.tasks.recreate(transaction, fixture.topic, 'reset', before))
      expect([order, condition, inputs(await fixture.poll(10))]).toEqual([order, condition, inputs(before)])
    }
  })

  test.each([
    ['is reassigned', (task: HeldTask) => fixture.tasks.reassign(tx!, fixture.topic, new Map([[task, 'success']])), ['a2']],
    [
      'and all like it are reassigned',
      () => fixture.tasks.reassignAll(tx!, fixture.topic, { from: 'failed', to: 'success' }),
      ['a2'],
    ],
    ['is purged', () => fixture.tasks.purge(tx!, fixture.topic, { states: ['failed'] }), ['a2']],
    ['is replaced', () => fixture.tasks.push(tx!, fixture.topic, many('a3'), { insertion: 'replace' }), ['a3']],
    ['is deleted by a push', () => fixture.tasks.push(tx!, fixture.topic, many('a3'), { insertion: 'delete' }), ['a3']],
    ['is recreated', (task: HeldTask) => fixture.tasks.recreate(tx!, fixture.topic, 'append', [task]), ['a2', 'a1']],
    ['is redriven', () => fixture.tasks.redrive(tx!, fixture.topic), ['a1', 'a2']],
  ] as const)('goes on when the failure that blocks it %s', async (_, unblock, left) => {
    await fixture.nextTopic(onFailure)
    await fixture.push(...many('a1', 'a2'))
    const [failed] = await fixture.poll(1)
    await fixture.complete([failed!], TaskDecision.failure())
    expect(await fixture.poll(10)).toEqual([])
    await fixture.commit(async (transaction) => {
      tx = transaction
      await unblock(failed!)
    })
    for (const next of left) {
      const held = await fixture.poll(10)
      expect(inputs(held)).toEqual([next])
      expect(await fixture.poll(10)).toEqual([])
      await fixture.complete(held)
    }
    expect(await fixture.poll(10)).toEqual([])
  })

  test('goes on when the active task expires, is handed back, or comes back from a lost answer', async () => {
    for (const order of orders) {
      await fixture.nextTopic({ order, ...oneOfEach })
      await fixture.push(...many('a1', 'a2'))
      const rival = await fixture.owner()
      expect(await fixture.poll(10, rival)).toHaveLength(1)
      await fixture.commit((transaction) => rival.unregister(transaction))
      await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 60_000 }))
      const [next] = await fixture.poll(10)
      expect(next).toMatchObject({ identifier: 'a' })
      expect(await fixture.states()).toEqual({ expired: 1, active: 1 })
      await fixture.commit((transaction) => fixture.tasks.reclaim(transaction, fixture.topic, []))
      const [again] = await fixture.poll(10)
      expect(again).toMatchObject({ sequence: next!.sequence, attempt: 2 })
      await fixture.complete([again!])
      expect(await fixture.poll(10)).toEqual([])
    }
  })

  test('goes on with what was pushed meanwhile when a lost answer is taken back', async () => {
    for (const order of orders) {
      await fixture.nextTopic({ order, ...oneOfEach })
      await fixture.push(...many('a1'))
      await fixture.poll(1)
      await fixture.push(...many('a2'))
      expect(await fixture.poll(9)).toEqual([])
      await fixture.commit((transaction) => fixture.tasks.reclaim(transaction, fixture.topic, []))
      expect(inputs(await fixture.poll(9))).toEqual([order === 'lifo' ? 'a2' : 'a1'])
    }
  })

  test('goes on when a retry is due, with the retry first', async () => {
    await fixture.nextTopic(oneOfEach)
    await fixture.push(...many('a1', 'a2'))
    await fixture.complete(await fixture.poll(1), TaskDecision.retry({ afterMs: 0 }))
    expect(await fixture.poll(10)).toEqual([])
    await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
    expect(inputs(await fixture.poll(10))).toEqual(['a1'])
  })

  test('goes on when a retry has no tries left', async () => {
    await fixture.nextTopic(oneOfEach)
    await fixture.push({ identifier: 'a', input: '1', maxTries: 1 }, ...many('a2'))
    await fixture.complete(await fixture.poll(1), TaskDecision.retry({ afterMs: 3_600_000 }))
    expect(inputs(await fixture.poll(10))).toEqual(['a2'])
    expect(await fixture.states()).toEqual({ failed: 1, active: 1 })
  })

  test('knows its own topic only', async () => {
    await fixture.nextTopic(untilSuccess)
    const other = fixture.topic
    await fixture.push(...many('a1', 'a2'))
    await fixture.complete(await fixture.poll(1), TaskDecision.failure())
    await fixture.nextTopic(untilSuccess)
    await fixture.push(...many('a1'))
    expect(inputs(await fixture.poll(10))).toEqual(['a1'])
    expect(await fixture.commit<HeldTask[]>((transaction) => fixture.tasks.poll(transaction, other, { size: 9 }))).toEqual([])
  })

  test('undoes with the transaction whatever it has noted', async () => {
    await fixture.nextTopic(oneOfEach)
    await fixture.push(...many('a1', 'a2', 'b1'))
    const undo = (work: () => Promise<unknown>): Promise<unknown> =>
      codeOf(() =>
        fixture.commit(async (transaction) => {
          tx = transaction
          await work()
          throw new Error('undone')
        }),
      )
    await undo(async () =>
      expect(inputs((await fixture.tasks.poll(tx!, fixture.topic, { size: 9 })) as HeldTask[])).toEqual(['a1', 'b1']),
    )
    const [a1, b1] = await fixture.poll(9)
    expect(inputs([a1!, b1!])).toEqual(['a1', 'b1'])
    await undo(async () => fixture.tasks.complete(tx!, fixture.topic, new Map([[a1!, TaskDecision.success()]])))
    expect(await fixture.poll(9)).toEqual([])
    await fixture.complete([a1!])
    await undo(async () =>
      expect(inputs((await fixture.tasks.poll(tx!, fixture.topic, { size: 9 })) as HeldTask[])).toEqual(['a2']),
    )
    expect(inputs(await fixture.poll(9))).toEqual(['a2'])
  })

  test('among identifiers keeps the order of their heads', async () => {
    await fixture.nextTopic(oneOfEach)
    await fixture.push(...many('a1', 'b1', 'c1', 'c2', 'b2', 'a2'))
    await fixture.complete(await fixture.poll(3))
    expect(inputs(await fixture.poll(1))).toEqual(['c2'])
    expect(inputs(await fixture.poll(1))).toEqual(['b2'])
    expect(inputs(await fixture.poll(1))).toEqual(['a2'])
  })

  test('under priority the identifiers with the most urgent heads come first, each in its own order', async () => {
    await fixture.nextTopic({ order: 'priority', ...oneOfEach })
    const task = (identifier: string, input: string, priority: number): object => ({ identifier, input, priority })
    await fixture.push(
      ...([task('a', '1', 0), task('a', '2', 9), task('b', '1', 5), task('c', '1', 7)] as { identifier: string }[]),
    )
    expect(inputs(await fixture.poll(2))).toEqual(['c1', 'b1'])
    const [a1] = await fixture.poll(2)
    expect(inputs([a1!])).toEqual(['a1'])
    await fixture.complete([a1!])
    expect(inputs(await fixture.poll(2))).toEqual(['a2'])
  })

  test('tells identifiers apart that are nearly alike', async () => {
    await fixture.nextTopic(oneOfEach)
    const alike = ['a', 'A', 'a ', ' a', 'ä', 'a\u0308', '😀', '😁', "a'", 'a"', 'a%', 'a_', 'a\\', 'ａ', '{a,b}', 'null', 'a;--']
    await fixture.push(...alike)
    expect(names(await fixture.poll(100))).toEqual(alike)
  })

  test('takes no more than was asked for, however many that are blocked it has to pass', async () => {
    await fixture.nextTopic(oneOfEach)
    await fixture.push('blocked')
    await fixture.poll(1)
    // A task with an external id may be the next one of its identifier, so a poll considers each.
    const blocked = Array.from({ length: 1_010 }, (_, index) => ({ identifier: 'blocked', externalId: `${index}` }))
    await fixture.push('a', ...blocked, 'b', 'c')
    expect(names(await fixture.poll(2))).toEqual(['a', 'b'])
    expect(names(await fixture.poll(2))).toEqual(['c'])
  })

  test('takes the first of more than a thousand, and then the first of a thousand whose turn has come', async () => {
    await fixture.nextTopic(oneOfEach)
    const all = Array.from({ length: 1_100 }, (_, index) => `t${index}`)
    for (let count = 0; count < 2; count++) await fixture.push(...all)
    expect(names(await fixture.poll(1))).toEqual(['t0'])
    const rest = await fixture.poll(1_099)
    expect(names(rest)).toEqual(all.slice(1))
    await fixture.complete(rest)
    expect(names(await fixture.poll(1))).toEqual(['t1'])
  })

  test('recreates a task behind the others of its identifier', async () => {
    await fixture.nextTopic(oneOfEach)
    await fixture.push(...many('a1', 'a2'))
    const [a1] = await fixture.poll(1)
    await fixture.complete([a1!], TaskDecision.failure())
    const [{ to } = { to: undefined }] = await fixture.commit<RecreatedTask[]>((transaction) =>
      fixture.tasks.recreate(transaction, fixture.topic, 'append', [a1!]),
    )
    const [a2] = await fixture.poll(9)
    expect(inputs([a2!])).toEqual(['a2'])
    await fixture.complete([a2!])
    expect(await fixture.poll(9)).toMatchObject([{ sequence: to?.sequence, input: '1' }])
  })
})
