/** After each verb, polls find exactly the tasks that the condition allows, including a task that was waiting behind another. */
import type { PollCondition, PollOrder, TaskInfo } from '@taskstream/task-api'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { claim } from '../properties/claims.ts'
import { canRun } from '../subject.ts'
import { columnSteps, whole } from './column-steps.ts'
import type { Fixture } from '@taskstream/task-testing/suite'

const topics: readonly { readonly order: PollOrder; readonly condition: PollCondition }[] = [
  { order: 'fifo', condition: 'singular-by-identifier' },
  { order: 'priority', condition: 'singular-by-identifier-suspend-on-failure' },
  { order: 'fifo', condition: 'singular-by-identifier-suspend-until-success' },
]

const beforeAnyDeadline = new Date(0)

describe.skipIf(!canRun)('it is the turn of those that the condition lets go', () => {
  const { open, steps, walk } = columnSteps()
  let fixture: Fixture
  beforeAll(async () => void (fixture = await open()))
  afterAll(() => fixture[Symbol.asyncDispose]())
  afterEach(async () => void (await fixture.commit((transaction) => fixture.tasks.purgeAll(transaction, fixture.topic))))

  describe.each(topics)('in a topic of %o', (topic) => {
    beforeAll(() => fixture.nextTopic(topic))

    /** Returns the sequences of the tasks that a poll should take among these. */
    const expected = (rows: readonly TaskInfo[]): number[] =>
      claim(topic, rows, 9, beforeAnyDeadline, () => true, { identifier: '', lap: 0, isKnown: true }).taken.map(
        ({ sequence }) => sequence,
      )
    /** Pushes another task of the identifier, and polls: the poll sees that the task must wait, or takes it if it need not wait. */
    const pushBehind = async (): Promise<void> => {
      const { identifier, priority } = whole
      await fixture.push({ identifier, priority, input: 'behind' }, { identifier: 'other', priority })
      const polled = await fixture.poll(9)
      await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, polled))
    }

    test.each(Object.keys(steps))('after: %s', async (name) => {
      await walk(name, pushBehind)
      for (let taken = -1; taken !== 0;) {
        const turns = expected(await fixture.page())
        const batch = await fixture.poll(9)
        expect(batch.map(({ sequence }) => sequence)).toEqual(turns)
        await fixture.complete(batch)
        taken = batch.length
      }
    })
  })
})
