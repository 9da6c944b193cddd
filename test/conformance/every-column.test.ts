/** Each verb changes exactly the columns of a task that it should change, and no others. */
import type { HeldTask, Repair, TaskInfo, TopicOptions } from '@taskstream/task-api'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { columnSteps, whole } from './column-steps.ts'
import type { Fixture } from '@taskstream/task-testing/suite'

const topics: readonly TopicOptions[] = [
  { keyed: true },
  { keyed: true, order: 'priority' },
  { condition: 'singular-by-identifier-suspend-until-success' },
]

describe.skipIf(!canRun)('every column of a task is as it should be', () => {
  const { open, steps, walk } = columnSteps()
  let fixture: Fixture
  beforeAll(async () => void (fixture = await open()))
  afterAll(() => fixture[Symbol.asyncDispose]())
  afterEach(async () => void (await fixture.commit((transaction) => fixture.tasks.purgeAll(transaction, fixture.topic))))

  describe.each(topics)('in a topic of %o', (options) => {
    beforeAll(() => fixture.nextTopic(options))

    test.each(Object.keys(steps))('after: %s', async (name) => {
      const { before, row } = await walk(name)
      const changes = steps[name]!.leaves?.()
      expect(row).toEqual(changes && { ...before, ...changes })
      // A page tells the same of it, and what the row says a second time, for indexes, says nothing else.
      expect((await fixture.page()).filter(({ sequence }) => sequence === row?.sequence)).toEqual(row ? [row] : [])
      const repaired = await fixture.commit<Repair>((transaction) => fixture.tasks.repair(transaction, fixture.topic))
      expect(repaired).toMatchObject({ corrected: 0, listed: 0, noted: 0, held: 0, left: 0 })
    })

    test('a poll tells all that a handler needs', async () => {
      const { row, held } = await walk('poll for a second try')
      const { topic, sequence, deadline } = row!
      expect(held).toEqual([
        { ...whole, topic, sequence, deadline, attempt: 2, tries: 2, lease: expect.anything() as HeldTask['lease'] },
      ])
    })

    test.each(['fail', 'retry', 'expire'])('a new task is made of an old one, after: %s', async (name) => {
      const { row, now } = await walk(`recreate after ${name}`)
      const { topic, sequence } = row!
      const made = (await fixture.page()).find((task) => task.sequence > sequence)
      expect(made).toEqual({
        ...whole,
        topic,
        sequence: expect.any(Number) as number,
        state: 'ready',
        descent: 'ready',
        attempt: 0,
        tries: 0,
        created: now,
      } satisfies TaskInfo)
      const { externalId } = whole
      const found = await fixture.commit((transaction) => fixture.tasks.task(transaction, topic, { externalId }) as unknown)
      expect(found).toEqual(made)
    })
  })
})
