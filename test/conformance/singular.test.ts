/** Never two tasks of one identifier at a time, and in order, under each condition and in both orders. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, PollCondition, PollOrder, RecreatedTask, TopicOptions } from '@taskstream/task-api'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { codeOf, names, openFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

const singular = { condition: 'singular-by-identifier' } as const
const onFailure = { condition: 'singular-by-identifier-suspend-on-failure' } as const
const untilSuccess = { condition: 'singular-by-identifier-suspend-until-success' } as const
const conditions: readonly { readonly condition: PollCondition }[] = [singular, onFailure, untilSuccess]
const orders: readonly PollOrder[] = ['fifo', 'lifo', 'priority']
const each: readonly Required<Pick<TopicOptions, 'order' | 'condition'>>[] = orders.flatMap((order) =>
  conditions.map(({ condition }) => ({ order, condition })),
)

describe.skipIf(!canRun)('a singular condition', () => {
  let it: Fixture
  beforeAll(async () => void (it = await openFixture()))
  afterAll(() => it[Symbol.asyncDispose]())
  const inputs = (tasks: readonly HeldTask[]): string[] => tasks.map(({ identifier, input = '' }) => identifier + input)
  const many = (...tasks: string[]): { identifier: string; input: string }[] =>
    tasks.map((task) => ({ identifier: task[0]!, input: task.slice(1) }))

  test.each(each)('takes one task of each identifier at a time: $order, $condition', async (options) => {
    await it.nextTopic(options)
    await it.push(...many('a1', 'a2', 'b1', 'a3', 'b2'))
    const expected = { fifo: [['a1', 'b1'], ['a2', 'b2'], ['a3']], lifo: [['b2', 'a3'], ['b1', 'a2'], ['a1']] }
    const [first, second, third] = expected[options.order === 'lifo' ? 'lifo' : 'fifo']
    const one = await it.poll(10)
    expect(inputs(one)).toEqual(first)
    expect(await it.poll(10)).toEqual([])
    await it.complete(one)
    const two = await it.poll(10)
    expect(inputs(two)).toEqual(second)
    await it.complete(two)
    const three = await it.poll(10)
    expect(inputs(three)).toEqual(third)
    await it.complete(three)
    expect(await it.states()).toEqual({ succeeded: 5 })
  })

  test.each(each)('is blocked by an active task wherever it stands: $order, $condition', async (options) => {
    await it.nextTopic(options)
    await it.push(...many('a1', 'a2'))
    const [held] = await it.poll(10)
    // Neither a later push nor a row that is made ready again before or after it may be taken beside it.
    await it.push(...many('a3'))
    expect(await it.poll(10)).toEqual([])
    await it.complete([held!], TaskDecision.success())
    await it.commit((transaction) => it.tasks.recreate(transaction, it.topic, 'reset', [held!]))
    const [next] = await it.poll(10)
    await it.push(...many('a4'))
    expect(await it.poll(10)).toEqual([])
    await it.commit((transaction) => it.tasks.handBack(transaction, it.topic, [next!]))
    expect(await it.poll(10)).toHaveLength(1)
    expect(await it.poll(10)).toEqual([])
  })

  test.each(each)('is blocked by a task that waits to be retried: $order, $condition', async (options) => {
    await it.nextTopic(options)
    await it.push(...many('a1', 'a2', 'a3'))
    const [first] = await it.poll(1)
    expect(inputs([first!])).toEqual([options.order === 'lifo' ? 'a3' : 'a1'])
    await it.complete([first!], TaskDecision.retry({ afterMs: 3_600_000 }))
    expect(await it.poll(10)).toEqual([])
    // A later one comes before it only where the latest is first.
    await it.push(...many('a4'))
    expect(inputs(await it.poll(10))).toEqual(options.order === 'lifo' ? ['a4'] : [])
  })

  test('lets a failure pass, or not, and a suspension pass, or not', async () => {
    const outcomes = async (options: TopicOptions, decision: TaskDecision): Promise<boolean> => {
      await it.nextTopic(options)
      await it.push(...many('a1', 'a2'))
      await it.complete(await it.poll(1), decision)
      return (await it.poll(10)).length > 0
    }
    for (const order of orders) {
      for (const decision of [TaskDecision.success(), TaskDecision.filter()]) {
        for (const { condition } of conditions) expect(await outcomes({ order, condition }, decision)).toBe(true)
      }
      expect(await outcomes({ order, ...singular }, TaskDecision.failure())).toBe(true)
      expect(await outcomes({ order, ...onFailure }, TaskDecision.failure())).toBe(false)
      expect(await outcomes({ order, ...untilSuccess }, TaskDecision.failure())).toBe(false)
      expect(await outcomes({ order, ...singular }, TaskDecision.suspension())).toBe(true)
      expect(await outcomes({ order, ...onFailure }, TaskDecision.suspension())).toBe(true)
      expect(await outcomes({ order, ...untilSuccess }, TaskDecision.suspension())).toBe(false)
    }
  })

  test('a later failure blocks nothing before it', async () => {
    for (const { condition } of [onFailure, untilSuccess]) {
      await it.nextTopic({ condition })
      const [late] = await it.push({ identifier: 'a', input: '1', suspended: true }, ...many('a2'))
      // Suspended stands in the way of the strictest condition only; a failure after it in nobody's.
      if (condition === onFailure.condition) {
        await it.complete(await it.poll(1), TaskDecision.failure())
        await it.commit((transaction) => it.tasks.recreate(transaction, it.topic, 'reset', [late!]))
        expect(inputs(await it.poll(10))).toEqual(['a1'])
      } else {
        expect(await it.poll(10)).toEqual([])
        await it.commit((transaction) => it.tasks.reassign(transaction, it.topic, new Map([[late!, 'success']])))
        expect(inputs(await it.poll(10))).toEqual(['a2'])
      }
    }
  })

  test.each([
    ['is reassigned', (task: HeldTask) => it.tasks.reassign(tx!, it.topic, new Map([[task, 'success']]))],
    ['and all like it are reassigned', () => it.tasks.reassignAll(tx!, it.topic, { from: 'failed', to: 'success' })],
    ['is purged', () => it.tasks.purge(tx!, it.topic, { states: ['failed'] })],
    ['is replaced', () => it.tasks.push(tx!, it.topic, many('a3'), { insertion: 'replace' })],
    ['is deleted by a push', () => it.tasks.push(tx!, it.topic, many('a3'), { insertion: 'delete' })],
    ['is recreated', (task: HeldTask) => it.tasks.recreate(tx!, it.topic, 'append', [task])],
    ['is redriven', () => it.tasks.redrive(tx!, it.topic)],
  ] as const)('goes on when the failure that blocks it %s', async (_, unblock) => {
    await it.nextTopic(onFailure)
    await it.push(...many('a1', 'a2'))
    const [failed] = await it.poll(1)
    await it.complete([failed!], TaskDecision.failure())
    expect(await it.poll(10)).toEqual([])
    await it.commit(async (transaction) => {
      tx = transaction
      await unblock(failed!)
    })
    expect(await it.poll(10)).toHaveLength(1)
    expect(await it.poll(10)).toEqual([])
  })

  test('goes on when the active task expires, is handed back, or comes back from a lost answer', async () => {
    for (const order of orders) {
      await it.nextTopic({ order, ...singular })
      await it.push(...many('a1', 'a2'))
      const rival = await it.owner()
      expect(await it.poll(10, rival)).toHaveLength(1)
      await it.commit((transaction) => rival.unregister(transaction))
      await it.commit((transaction) => it.tasks.expire(transaction, { olderThanMs: 60_000 }))
      const [next] = await it.poll(10)
      expect(next).toMatchObject({ identifier: 'a' })
      expect(await it.states()).toEqual({ expired: 1, active: 1 })
      await it.commit((transaction) => it.tasks.reclaim(transaction, it.topic, []))
      const [again] = await it.poll(10)
      expect(again).toMatchObject({ sequence: next!.sequence, attempt: 2 })
      await it.complete([again!])
      expect(await it.poll(10)).toEqual([])
    }
  })

  test('goes on with what was pushed meanwhile when a lost answer is taken back', async () => {
    for (const order of orders) {
      await it.nextTopic({ order, ...singular })
      await it.push(...many('a1'))
      await it.poll(1)
      await it.push(...many('a2'))
      expect(await it.poll(9)).toEqual([])
      await it.commit((transaction) => it.tasks.reclaim(transaction, it.topic, []))
      expect(inputs(await it.poll(9))).toEqual([order === 'lifo' ? 'a2' : 'a1'])
    }
  })

  test('goes on when a retry is due, with the retry first', async () => {
    await it.nextTopic(singular)
    await it.push(...many('a1', 'a2'))
    await it.complete(await it.poll(1), TaskDecision.retry({ afterMs: 0 }))
    expect(await it.poll(10)).toEqual([])
    await it.commit((transaction) => it.tasks.release(transaction, it.topic))
    expect(inputs(await it.poll(10))).toEqual(['a1'])
  })

  test('goes on when a retry has no tries left', async () => {
    await it.nextTopic(singular)
    await it.push({ identifier: 'a', input: '1', maxTries: 1 }, ...many('a2'))
    await it.complete(await it.poll(1), TaskDecision.retry({ afterMs: 3_600_000 }))
    expect(inputs(await it.poll(10))).toEqual(['a2'])
    expect(await it.states()).toEqual({ failed: 1, active: 1 })
  })

  test('knows its own topic only', async () => {
    await it.nextTopic(untilSuccess)
    const other = it.topic
    await it.push(...many('a1', 'a2'))
    await it.complete(await it.poll(1), TaskDecision.failure())
    await it.nextTopic(untilSuccess)
    await it.push(...many('a1'))
    expect(inputs(await it.poll(10))).toEqual(['a1'])
    expect(await it.commit<HeldTask[]>((transaction) => it.tasks.poll(transaction, other, { size: 9 }))).toEqual([])
  })

  test('undoes with the transaction whatever it has noted', async () => {
    await it.nextTopic(singular)
    await it.push(...many('a1', 'a2', 'b1'))
    const undo = (work: () => Promise<unknown>): Promise<unknown> =>
      codeOf(() =>
        it.commit(async (transaction) => {
          tx = transaction
          await work()
          throw new Error('undone')
        }),
      )
    await undo(async () => expect(inputs((await it.tasks.poll(tx!, it.topic, { size: 9 })) as HeldTask[])).toEqual(['a1', 'b1']))
    const [a1, b1] = await it.poll(9)
    expect(inputs([a1!, b1!])).toEqual(['a1', 'b1'])
    await undo(async () => it.tasks.complete(tx!, it.topic, new Map([[a1!, TaskDecision.success()]])))
    expect(await it.poll(9)).toEqual([])
    await it.complete([a1!])
    await undo(async () => expect(inputs((await it.tasks.poll(tx!, it.topic, { size: 9 })) as HeldTask[])).toEqual(['a2']))
    expect(inputs(await it.poll(9))).toEqual(['a2'])
  })

  test('among identifiers keeps the order of their heads', async () => {
    await it.nextTopic(singular)
    await it.push(...many('a1', 'b1', 'c1', 'c2', 'b2', 'a2'))
    await it.complete(await it.poll(3))
    expect(inputs(await it.poll(1))).toEqual(['c2'])
    expect(inputs(await it.poll(1))).toEqual(['b2'])
    expect(inputs(await it.poll(1))).toEqual(['a2'])
  })

  test('under priority the identifiers with the most urgent heads come first, each in its own order', async () => {
    await it.nextTopic({ order: 'priority', ...singular })
    const task = (identifier: string, input: string, priority: number): object => ({ identifier, input, priority })
    await it.push(...([task('a', '1', 0), task('a', '2', 9), task('b', '1', 5), task('c', '1', 7)] as { identifier: string }[]))
    expect(inputs(await it.poll(2))).toEqual(['c1', 'b1'])
    const [a1] = await it.poll(2)
    expect(inputs([a1!])).toEqual(['a1'])
    await it.complete([a1!])
    expect(inputs(await it.poll(2))).toEqual(['a2'])
  })

  test('tells identifiers apart that are nearly alike', async () => {
    await it.nextTopic(singular)
    const alike = ['a', 'A', 'a ', ' a', 'ä', 'a\u0308', '😀', '😁', "a'", 'a"', 'a%', 'a_', 'a\\', 'ａ', '{a,b}', 'null', 'a;--']
    await it.push(...alike)
    expect(names(await it.poll(100))).toEqual(alike)
  })

  test('recreates a task behind the others of its identifier', async () => {
    await it.nextTopic(singular)
    await it.push(...many('a1', 'a2'))
    const [a1] = await it.poll(1)
    await it.complete([a1!], TaskDecision.failure())
    const [{ to } = { to: undefined }] = await it.commit<RecreatedTask[]>((transaction) =>
      it.tasks.recreate(transaction, it.topic, 'append', [a1!]),
    )
    const [a2] = await it.poll(9)
    expect(inputs([a2!])).toEqual(['a2'])
    await it.complete([a2!])
    expect(await it.poll(9)).toMatchObject([{ sequence: to?.sequence, input: '1' }])
  })

  testOn(['postgres'])('waits for nobody, and takes nothing twice, while others poll the same identifiers', async () => {
    for (const order of orders) {
      await it.nextTopic({ order, ...singular })
      await it.push(...many('a1', 'a2', 'b1'))
      const [one, two] = [await it.subject.session(), await it.subject.session()]
      await one.begin()
      await two.begin()
      const [first] = (await it.tasks.poll(one.transaction, it.topic, { size: 1 })) as HeldTask[]
      const rest = (await it.tasks.poll(two.transaction, it.topic, { size: 9 })) as HeldTask[]
      expect(names(rest)).toEqual([first!.identifier === 'a' ? 'b' : 'a'])
      await one.rollback()
      expect(names((await it.tasks.poll(two.transaction, it.topic, { size: 9 })) as HeldTask[])).toEqual([first!.identifier])
      await two.commit()
    }
  })

  testOn(['postgres'])('takes one of two that were pushed out of order and committed late', async () => {
    for (const order of orders) {
      await it.nextTopic({ order, ...singular })
      const [early, late] = [await it.subject.session(), await it.subject.session()]
      await early.begin()
      await it.tasks.push(early.transaction, it.topic, many('a1'))
      await late.begin()
      await it.tasks.push(late.transaction, it.topic, many('a2'))
      await late.commit()
      const [a2] = await it.poll(9)
      expect(inputs([a2!])).toEqual(['a2'])
      await early.commit()
      expect(await it.poll(9)).toEqual([])
      await it.complete([a2!])
      expect(inputs(await it.poll(9))).toEqual(['a1'])
    }
  })

  testOn(['postgres'])('finds a task that another transaction was working on when its turn came', async () => {
    await it.nextTopic(singular)
    await it.push(...many('a1', 'a2'))
    const [a1] = await it.poll(9)
    expect(await it.poll(9)).toEqual([])
    const session = await it.subject.session()
    await session.begin()
    await it.tasks.push(session.transaction, it.topic, many('a3'), { insertion: 'supersede' })
    await it.complete([a1!])
    expect(await it.poll(9)).toEqual([])
    await session.rollback()
    expect(inputs(await it.poll(9))).toEqual(['a2'])
  })

  testOn(['postgres'])('goes on with a later task when what was in its way is replaced by one that waits', async () => {
    await it.nextTopic(onFailure)
    await it.push(...many('a1'))
    await it.complete(await it.poll(1), TaskDecision.failure())
    const session = await it.subject.session()
    await session.begin()
    await it.tasks.push(session.transaction, it.topic, { identifier: 'a', suspended: true }, { insertion: 'replace' })
    await it.push(...many('a3'))
    expect(await it.poll(9)).toEqual([])
    await session.commit()
    expect(inputs(await it.poll(9))).toEqual(['a3'])
  })

  testOn(['postgres'])('is refused where the transaction cannot see what others have just done', async () => {
    await it.nextTopic(singular)
    await it.push(...many('a1'))
    for (const level of ['repeatable read', 'serializable']) {
      const session = await it.subject.session()
      await session.begin()
      await (session.transaction as { query(text: string): Promise<unknown> }).query(`set transaction isolation level ${level}`)
      expect(await codeOf(() => it.tasks.poll(session.transaction, it.topic, { size: 1 }))).toBe('ISOLATION_UNSUPPORTED')
      await session.rollback()
    }
  })
  let tx: unknown
})
