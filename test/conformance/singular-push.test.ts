/** If one push has several tasks of an identifier, only those that a poll may take are on the ready list. */
import { TaskDecision } from '@taskstream/task-api'
import type { TopicOptions } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import { names, openFixture, whileTested } from '@taskstream/task-testing/suite'

const singular = 'singular-by-identifier' as const

describe.skipIf(!canRun)('several tasks of an identifier in one push', () => {
  const fixture = whileTested(() => openFixture(engine))

  /** Returns the inputs of the tasks on the ready list, as a poll looks at no others. */
  const listed = async (): Promise<unknown[]> => {
    const { subject, topic } = fixture
    const task = raw(subject.engine === 'postgres' ? 'taskstream.task' : 'task')
    const isListed = raw(subject.engine === 'postgres' ? 'listed' : 'listed = 1')
    const query = sql`select input from ${task} where topic = ${topic} and ${isListed} order by sequence`
    return (await fixture.commit((transaction) => subject.execute(transaction, query))).map(({ input }) => input)
  }
  const creations = ['a', 'b', 'a', 'a', 'c', 'b'].map((identifier, index) => ({ identifier, input: identifier + index }))

  test.each<[TopicOptions, readonly string[]]>([
    [{ condition: singular }, ['a0', 'b1', 'c4']],
    [{ condition: singular, order: 'lifo' }, ['a3', 'c4', 'b5']],
    [{ condition: singular, order: 'priority' }, ['a0', 'b1', 'c4']],
    [{ order: 'lifo' }, ['a0', 'b1', 'a2', 'a3', 'c4', 'b5']],
    [{ order: 'priority' }, ['a0', 'b1', 'a2', 'a3', 'c4', 'b5']],
    [{}, []],
  ])('are listed where they may be a head, in a topic of %o', async (options, expected) => {
    await fixture.nextTopic(options)
    await fixture.push(...creations)
    expect(await listed()).toEqual(expected)
    // A creation with more than an identifier and an input gives the same result.
    await fixture.nextTopic(options)
    await fixture.push(...creations, { identifier: 'd', priority: 1, suspended: true })
    expect(await listed()).toEqual(expected)
  })

  test.each(['fifo', 'lifo', 'priority'] as const)('are all handed out, one after the other, in a %s topic', async (order) => {
    await fixture.nextTopic({ condition: singular, order })
    await fixture.push(...creations)
    const seen: string[] = []
    for (let batch = await fixture.poll(); batch.length > 0; batch = await fixture.poll()) {
      seen.push(...batch.map(({ input = '' }) => input))
      await fixture.complete(batch, TaskDecision.success())
    }
    expect(seen.toSorted()).toEqual(creations.map(({ input }) => input).toSorted())
    for (const identifier of 'abc') {
      const own = seen.filter((input) => input.startsWith(identifier))
      expect(own).toEqual(order === 'lifo' ? own.toSorted().toReversed() : own.toSorted())
    }
  })

  test('leave a poll room for what comes behind them, however many are listed', async () => {
    await fixture.nextTopic({ condition: singular })
    // Each of these external ids could exist already, so none of the tasks is known to be the first.
    const many = Array.from({ length: 1_100 }, (_, index) => ({ identifier: 'a', externalId: `a${index}` }))
    await fixture.push(...many, { identifier: 'b' })
    expect(names(await fixture.poll(2))).toEqual(['a', 'b'])
  })

  test.each(['fifo', 'lifo'] as const)(
    'are found where one of them was there before, by its external id, in a %s topic',
    async (order) => {
      await fixture.nextTopic({ condition: singular, order })
      await fixture.push({ identifier: 'a', externalId: 'x' })
      await fixture.complete(await fixture.poll())
      // This poll processes the recheck that the completion noted. Nothing else leads to the identifier.
      expect(await fixture.poll()).toEqual([])
      const again = { identifier: 'a', externalId: 'x' }
      const pushed = await fixture.push(...(order === 'lifo' ? [{ identifier: 'a' }, again] : [again, { identifier: 'a' }]))
      expect(pushed.map(({ outcome }) => outcome).toSorted()).toEqual(['created', 'duplicate'])
      expect(names(await fixture.poll())).toEqual(['a'])
    },
  )

  test('wait for one that is due later, and are found when it has been done', async () => {
    await fixture.nextTopic({ condition: singular })
    await fixture.push({ identifier: 'a', delayMs: 1 }, { identifier: 'a', input: 'second' }, { identifier: 'a', input: 'third' })
    await expect
      .poll(() => fixture.commit<{ promoted: number }>((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic)))
      .toMatchObject({ promoted: 1 })
    for (const input of [undefined, 'second', 'third']) {
      const batch = await fixture.poll()
      expect(batch.map((task) => task.input)).toEqual([input])
      await fixture.complete(batch)
    }
  })
})
