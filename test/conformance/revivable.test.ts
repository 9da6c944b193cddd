/** `recreate` and `reassign` accept given tasks only if they have ended, which is checked for each state. */
import type { FilterState, Task } from '@taskstream/task-api'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { columnSteps } from './column-steps.ts'
import { codeOf } from '@taskstream/task-testing/suite'
import type { Fixture } from '@taskstream/task-testing/suite'
import { stepTo } from './state-steps.ts'

const ended: ReadonlySet<FilterState> = new Set(['expired', 'failed', 'suspended', 'delayed', 'filtered', 'succeeded'])
const cases = (Object.keys(stepTo) as FilterState[]).map((state) => ({ state, refused: !ended.has(state) }))

describe.skipIf(!canRun)('a task that is given', () => {
  const { open, walk } = columnSteps()
  let fixture: Fixture
  beforeAll(async () => {
    fixture = await open()
    await fixture.nextTopic({ keyed: true })
  })
  afterAll(() => fixture[Symbol.asyncDispose]())
  afterEach(async () => void (await fixture.commit((transaction) => fixture.tasks.purgeAll(transaction, fixture.topic))))

  const verbs: Readonly<Record<string, (transaction: AnyTransaction, task: Task) => unknown>> = {
    reset: (transaction, task) => fixture.tasks.recreate(transaction, task.topic, 'reset', [task]),
    append: (transaction, task) => fixture.tasks.recreate(transaction, task.topic, 'append', [task]),
    supersede: (transaction, task) => fixture.tasks.recreate(transaction, task.topic, 'supersede', [task]),
    replace: (transaction, task) => fixture.tasks.recreate(transaction, task.topic, 'replace', [task]),
    reassign: (transaction, task) => fixture.tasks.reassign(transaction, task.topic, new Map([[task, 'success' as const]])),
  }

  describe.each(Object.keys(verbs))('to %s', (verb) => {
    test.each(cases)('in the state $state is refused: $refused', async ({ state, refused }) => {
      const { row } = await walk(stepTo[state])
      const { topic, sequence, identifier } = row!
      const before = await fixture.page()
      // The transaction commits, so that what the verb had written before it threw would be seen.
      const outcome = await fixture.commit((transaction) =>
        codeOf(() => verbs[verb]!(transaction, { topic, sequence, identifier })),
      )
      expect(outcome === 'TASK_STATE').toBe(refused)
      if (refused) expect(await fixture.page()).toEqual(before)
      else expect(await fixture.page()).not.toEqual(before)
    })
  })

  test.each(cases)('in the state $state is redriven where no states are named only if it failed', async ({ state }) => {
    const { row } = await walk(stepTo[state])
    // Other tasks that the steps have made are ignored.
    const { topic, sequence } = row!
    const options = { from: sequence, to: sequence }
    const redriven = { count: 1, first: sequence, last: sequence }
    expect(await fixture.commit<unknown>((transaction) => fixture.tasks.redrive(transaction, topic, options) as unknown)).toEqual(
      state === 'failed' ? redriven : { count: 0 },
    )
  })
})
