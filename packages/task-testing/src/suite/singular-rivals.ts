/** Several connections poll a singular topic at a time: none waits, and no two take tasks of one identifier. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, PollOrder } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { part, testWhere } from './engine.ts'
import type { Part } from './engine.ts'
import { codeOf, names, useFixture } from './fixture.ts'

const oneOfEach = { condition: 'singular-by-identifier' } as const
const onFailure = { condition: 'singular-by-identifier-suspend-on-failure' } as const
const orders: readonly PollOrder[] = ['fifo', 'lifo', 'priority']

export const singularRivals: Part = part(
  'pollers under a singular condition',
  (engine) => {
    const fixture = useFixture(engine)
    const inputs = (tasks: readonly HeldTask[]): string[] => tasks.map(({ identifier, input = '' }) => identifier + input)
    const many = (...tasks: string[]): { identifier: string; input: string }[] =>
      tasks.map((task) => ({ identifier: task[0]!, input: task.slice(1) }))

    test('waits for nobody, and takes nothing twice, while others poll the same identifiers', async () => {
      for (const order of orders) {
        await fixture.nextTopic({ order, ...oneOfEach })
        await fixture.push(...many('a1', 'a2', 'b1'))
        const [one, two] = [await fixture.subject.session(), await fixture.subject.session()]
        await one.begin()
        await two.begin()
        const [first] = (await fixture.tasks.poll(one.transaction, fixture.topic, { size: 1 })) as HeldTask[]
        const rest = (await fixture.tasks.poll(two.transaction, fixture.topic, { size: 9 })) as HeldTask[]
        expect(names(rest)).toEqual([first!.identifier === 'a' ? 'b' : 'a'])
        await one.rollback()
        expect(names((await fixture.tasks.poll(two.transaction, fixture.topic, { size: 9 })) as HeldTask[])).toEqual([
          first!.identifier,
        ])
        await two.commit()
      }
    })

    test('takes one of two that were pushed out of order and committed late', async () => {
      for (const order of orders) {
        await fixture.nextTopic({ order, ...oneOfEach })
        const [early, late] = [await fixture.subject.session(), await fixture.subject.session()]
        await early.begin()
        await fixture.tasks.push(early.transaction, fixture.topic, many('a1'))
        await late.begin()
        await fixture.tasks.push(late.transaction, fixture.topic, many('a2'))
        await late.commit()
        const [a2] = await fixture.poll(9)
        expect(inputs([a2!])).toEqual(['a2'])
        await early.commit()
        expect(await fixture.poll(9)).toEqual([])
        await fixture.complete([a2!])
        expect(inputs(await fixture.poll(9))).toEqual(['a1'])
      }
    })

    test('finds a task that waited for one which a push removed, though that push brought nothing that is ready', async () => {
      for (const insertion of ['supersede', 'replace', 'delete'] as const) {
        await fixture.nextTopic(oneOfEach)
        await fixture.push({ identifier: 'a', delayMs: 3_600_000 })
        const session = await fixture.subject.session()
        await session.begin()
        await fixture.tasks.push(session.transaction, fixture.topic, { identifier: 'a', suspended: true }, { insertion })
        await fixture.push(...many('a3'))
        expect(await fixture.poll(9)).toEqual([])
        await session.commit()
        expect(inputs(await fixture.poll(9))).toEqual(['a3'])
      }
    })

    test('finds a task that another transaction was working on when its turn came', async () => {
      await fixture.nextTopic(oneOfEach)
      await fixture.push(...many('a1', 'a2'))
      const [a1] = await fixture.poll(9)
      expect(await fixture.poll(9)).toEqual([])
      const session = await fixture.subject.session()
      await session.begin()
      await fixture.tasks.push(session.transaction, fixture.topic, many('a3'), { insertion: 'supersede' })
      await fixture.complete([a1!])
      // A poll that waits for the task fails, and does not wait for ever.
      const polling = fixture.commit<HeldTask[]>(async (transaction) => {
        await fixture.tasks.limitStatements(transaction, 5_000)
        return (await fixture.tasks.poll(transaction, fixture.topic, { size: 9 })) as HeldTask[]
      })
      expect(await polling).toEqual([])
      await session.rollback()
      expect(inputs(await fixture.poll(9))).toEqual(['a2'])
    })

    test('finds a task that stands behind a thousand which another holds and some which are blocked', async () => {
      await fixture.nextTopic(oneOfEach)
      await fixture.push('blocked')
      await fixture.poll(1)
      // Each task has a push of its own, so a poll has to consider each of them as the next of its identifier.
      const pushes = (identifier: string, count: number): Promise<void> =>
        fixture.commit(async (transaction) => {
          for (let made = 0; made < count; made++) await fixture.tasks.push(transaction, fixture.topic, identifier)
        })
      await pushes('held', 1_000)
      await pushes('blocked', 50)
      await fixture.push('free')
      const session = await fixture.subject.session()
      await session.begin()
      expect(names((await fixture.tasks.poll(session.transaction, fixture.topic, { size: 1 })) as HeldTask[])).toEqual(['held'])
      expect(names(await fixture.poll(9))).toEqual(['free'])
      await session.rollback()
    })

    test('finds a task that stands behind a thousand which another transaction is changing', async () => {
      await fixture.nextTopic(oneOfEach)
      const others = await fixture.push(...Array.from({ length: 1_100 }, (_, index) => `other ${index}`))
      await fixture.push('free')
      const session = await fixture.subject.session()
      await session.begin()
      const sequences = others.map(({ sequence }) => sequence)
      await fixture.tasks.reschedule(session.transaction, fixture.topic, sequences, { priority: 1 })
      expect(names(await fixture.poll(1))).toEqual(['free'])
      await session.rollback()
      expect(names(await fixture.poll(1))).toEqual(['other 0'])
    })

    test('goes on with a later task when what was in its way is replaced by one that waits', async () => {
      await fixture.nextTopic(onFailure)
      await fixture.push(...many('a1'))
      await fixture.complete(await fixture.poll(1), TaskDecision.failure())
      const session = await fixture.subject.session()
      await session.begin()
      await fixture.tasks.push(session.transaction, fixture.topic, { identifier: 'a', suspended: true }, { insertion: 'replace' })
      await fixture.push(...many('a3'))
      expect(await fixture.poll(9)).toEqual([])
      await session.commit()
      expect(inputs(await fixture.poll(9))).toEqual(['a3'])
    })

    testWhere(engine.family === 'postgres')(
      'is refused where the transaction cannot see what others have just done',
      async () => {
        await fixture.nextTopic(oneOfEach)
        await fixture.push(...many('a1'))
        for (const level of ['repeatable read', 'serializable']) {
          const session = await fixture.subject.session()
          await session.begin()
          await (session.transaction as { query(text: string): Promise<unknown> }).query(
            `set transaction isolation level ${level}`,
          )
          expect(await codeOf(() => fixture.tasks.poll(session.transaction, fixture.topic, { size: 1 }))).toBe(
            'ISOLATION_UNSUPPORTED',
          )
          await session.rollback()
        }
      },
    )
  },
  ({ writers }) => writers > 1,
)
