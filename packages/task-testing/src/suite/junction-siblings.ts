/** Which states of a sibling let a junction start a group: each state on its own, for both kinds of junction. */
import { TaskDecision } from '@taskstream/task-api'
import type { FilterState, Junction } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { useFixture } from './fixture.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'

export const junctionSiblings: Part = part('a suspended task of a group starts', (engine) => {
  const fixture = useFixture(engine, { topic: { keyed: true } })

  const junction = async (kind: Junction): Promise<string[]> => {
    const { tasks, topic, commit } = fixture
    return [...(await commit<ReadonlySet<string>>((transaction) => tasks.junction(transaction, topic, kind, [['a', 'b']])))]
  }
  const ended = async (decision: TaskDecision): Promise<void> => {
    await fixture.push('b')
    await fixture.complete(await fixture.poll(1), decision)
  }
  /** Makes one task `b` in the state, and no other task of this identifier. */
  const siblings: Readonly<Record<FilterState, () => Promise<unknown>>> = {
    active: async () => {
      await fixture.push('b')
      await fixture.poll(1)
    },
    ready: () => fixture.push('b'),
    expired: async () => {
      const rival = await fixture.owner()
      await fixture.push('b')
      await fixture.poll(1, rival)
      await fixture.commit((transaction) => rival.unregister(transaction))
      await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 60_000 }))
    },
    failed: () => ended(TaskDecision.failure()),
    suspended: () => ended(TaskDecision.suspension()),
    delayed: () => ended(TaskDecision.retry({ afterMs: 60_000 })),
    blocked: async () => {
      const { tasks, topic, commit } = fixture
      const [task] = await fixture.push({ identifier: 'b', suspended: true })
      await commit((transaction) => tasks.depend(transaction, task!, [{ need: 'x', on: { topic, sequence: 0 } }]))
    },
    filtered: () => ended(TaskDecision.filter()),
    succeeded: () => ended(TaskDecision.success()),
    recreated: async () => {
      const { tasks, topic, commit } = fixture
      await ended(TaskDecision.failure())
      await commit((transaction) => tasks.recreate(transaction, topic, 'append', { state: 'failed' }))
      await commit((transaction) => tasks.purge(transaction, topic, { states: ['ready'] }))
    },
    redundant: async () => {
      const { tasks, topic, commit } = fixture
      await commit((transaction) => tasks.push(transaction, topic, ['b', 'b'], { insertion: 'replace' }))
      await commit((transaction) => tasks.purge(transaction, topic, { states: ['ready'] }))
    },
  }
  const met: Readonly<Record<Junction, readonly FilterState[]>> = {
    singular: ['suspended'],
    eternal: ['active', 'ready', 'expired', 'failed', 'suspended', 'delayed', 'blocked', 'filtered', 'succeeded', 'recreated'],
  }
  const cases = (['singular', 'eternal'] as const).flatMap((kind) =>
    (Object.keys(siblings) as FilterState[]).map((state) => ({ kind, state, starts: met[kind].includes(state) })),
  )

  test.each(cases)('in a group that is $kind, beside one that is $state: $starts', async ({ kind, state, starts }) => {
    await siblings[state]()
    await fixture.push({ identifier: 'a', suspended: true })
    expect(await fixture.states()).toEqual(state === 'suspended' ? { suspended: 2 } : { [state]: 1, suspended: 1 })
    const started = state === 'suspended' ? ['a', 'b'] : ['a']
    expect((await junction(kind)).toSorted()).toEqual(starts ? started : [])
    const left = (await fixture.page()).filter(({ due, blocked }) => due === undefined && !blocked)
    expect(left.some((task) => task.state === 'suspended')).toBe(!starts)
  })
})
