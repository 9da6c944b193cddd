/** A purge deletes exactly the tasks in the named states. Without named states it deletes those that have ended. */
import type { FilterState, PurgeOptions } from '@taskstream/task-api'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { columnSteps } from './column-steps.ts'
import type { Fixture } from '@taskstream/task-testing/suite'
import { stepTo } from './state-steps.ts'

const all = Object.keys(stepTo) as FilterState[]
const ended: ReadonlySet<FilterState> = new Set(['failed', 'suspended', 'filtered', 'succeeded', 'recreated', 'redundant'])

describe.skipIf(!canRun)('a purge', () => {
  const { open, walk } = columnSteps()
  let fixture: Fixture
  beforeAll(async () => {
    fixture = await open()
    await fixture.nextTopic({ keyed: true })
  })
  afterAll(() => fixture[Symbol.asyncDispose]())
  afterEach(async () => void (await fixture.commit((transaction) => fixture.tasks.purgeAll(transaction, fixture.topic))))

  /** Whether a purge deletes a task in this state. */
  const deletes = async (state: FilterState, options: PurgeOptions): Promise<boolean> => {
    const { row } = await walk(stepTo[state])
    const { sequence } = row!
    // Other tasks that the steps have made are ignored.
    const bounds = { from: sequence, to: sequence }
    const count = await fixture.commit<number>((transaction) =>
      fixture.tasks.purge(transaction, fixture.topic, { ...options, ...bounds }),
    )
    expect((await fixture.page()).some((task) => task.sequence === sequence)).toBe(count === 0)
    return count === 1
  }

  test.each(all.map((state) => [state, ended.has(state)] as const))(
    'deletes what is %s by default: %s',
    async (state, deleted) => {
      expect(await deletes(state, {})).toBe(deleted)
    },
  )

  test.each(all)('deletes what is %s where that is named, and not where all others are', async (state) => {
    expect(await deletes(state, { states: all.filter((one) => one !== state) })).toBe(false)
    await fixture.commit((transaction) => fixture.tasks.purgeAll(transaction, fixture.topic))
    expect(await deletes(state, { states: [state] })).toBe(true)
  })
})
