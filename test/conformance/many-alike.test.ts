/** Many tasks are completed at once, whether their sequences follow each other or not, and those that were lost are told apart. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { useFixture } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'

const kinds: Readonly<Record<string, { readonly pushed: number; readonly every: number }>> = {
  'a few that follow each other': { pushed: 5, every: 1 },
  'many that follow each other': { pushed: 300, every: 1 },
  'every other one of a few': { pushed: 10, every: 2 },
  'every other one of many': { pushed: 600, every: 2 },
  'every other one of more than are named one by one': { pushed: 2_200, every: 2 },
}

const sequences = (tasks: readonly { readonly sequence: number }[]): number[] => tasks.map(({ sequence }) => sequence)

describe.skipIf(!canRun).each(Object.entries(kinds))('%s', (_, { pushed, every }) => {
  const fixture = useFixture(engine)
  /** Pushes and polls, and chooses some of the tasks. */
  const hold = async (): Promise<{ readonly chosen: HeldTask[]; readonly others: HeldTask[] }> => {
    await fixture.push(...Array.from({ length: pushed }, (_, index) => `t${index}`))
    const held = await fixture.poll(pushed)
    expect(held).toHaveLength(pushed)
    return {
      chosen: held.filter((_, index) => index % every === 0),
      others: held.filter((_, index) => index % every !== 0),
    }
  }

  test('are all completed, and no other task', async () => {
    const { chosen, others } = await hold()
    expect(await fixture.complete(chosen)).toEqual({ completed: chosen, lost: [] })
    expect(await fixture.states()).toEqual({ succeeded: chosen.length, ...(others.length > 0 && { active: others.length }) })
  })

  test('are completed but for those that were completed before, or are held by another', async () => {
    const { chosen } = await hold()
    const [first, last] = [chosen[0]!, chosen.at(-1)!]
    const middle = chosen[chosen.length >> 1]!
    const kept = chosen.filter((task) => task !== first && task !== middle && task !== last)
    await fixture.complete([first, last], TaskDecision.failure('before'))
    await fixture.complete([middle], TaskDecision.retry({ afterMs: 0 }))
    await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
    const rival = await fixture.owner()
    expect(sequences(await fixture.poll(1, rival))).toEqual([middle.sequence])
    const { completed, lost } = await fixture.complete(chosen)
    expect([sequences(completed), sequences(lost)]).toEqual([sequences(kept), sequences([first, middle, last])])
    const failed = await fixture.commit((transaction) => fixture.tasks.page(transaction, fixture.topic, { states: ['failed'] }))
    expect(sequences(failed)).toEqual(sequences([first, last]))
    expect((await fixture.states())['succeeded']).toBe(kept.length)
  })

  test('are not completed by one who has only an earlier attempt', async () => {
    const { chosen } = await hold()
    await fixture.complete(chosen, TaskDecision.retry({ afterMs: 0 }))
    await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic, { limit: pushed }))
    const again = await fixture.poll(pushed)
    expect(sequences(again)).toEqual(sequences(chosen))
    expect((await fixture.complete(chosen)).lost).toEqual(chosen)
    expect(await fixture.complete(again)).toEqual({ completed: again, lost: [] })
  })
})
