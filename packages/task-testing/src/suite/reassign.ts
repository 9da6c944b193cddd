/** Ended tasks are given another result. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, ReassignAllOptions, ResultsOptions, Task, TaskEnding, TaskResult } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { part } from './engine.ts'
import type { Part } from './engine.ts'
import { codeOf, thrownBy, useFixture } from './fixture.ts'

export const reassign: Part = part('giving tasks another result', (engine) => {
  const fixture = useFixture(engine, { topic: { keyed: true } })
  const failed = async (...identifiers: string[]): Promise<HeldTask[]> => {
    await fixture.push(...identifiers)
    const held = await fixture.poll(identifiers.length)
    await fixture.complete(held, TaskDecision.failure('no'))
    return held
  }

  test('reassign corrects a result, and leaves the rest as it was', async () => {
    const [a, b] = await failed('a', 'b')
    const reassign = (results: ReadonlyMap<Task, 'success' | 'filter'>): Promise<void> =>
      fixture.commit<void>((transaction) => fixture.tasks.reassign(transaction, fixture.topic, results))
    await reassign(
      new Map([
        [a!, 'success'],
        [b!, 'filter'],
      ]),
    )
    expect(await fixture.page()).toMatchObject([
      { state: 'succeeded', descent: 'failed', output: 'no', owner: fixture.tasks.owner },
      { state: 'filtered', descent: 'failed', output: 'no' },
    ])
    const [ready] = await fixture.push('c')
    await reassign(new Map())
    const before = await fixture.page()
    // The transaction commits, so that what the verb had written before it threw would be seen.
    const refused = async (...results: [Task, 'success' | 'filter'][]): Promise<unknown> => {
      const error = await fixture.commit((transaction) =>
        thrownBy(() => fixture.tasks.reassign(transaction, fixture.topic, new Map(results))),
      )
      expect(await fixture.page()).toEqual(before)
      return error
    }
    expect(await refused([a!, 'filter'], [ready!, 'success'])).toMatchObject({ code: 'TASK_STATE', data: { tasks: [ready] } })
    expect(await refused([b!, 'success'], [a!, 'filter'], [{ ...a! }, 'filter'])).toMatchObject({
      code: 'TASK_DUPLICATE',
      data: { task: a },
    })
  })

  test('a task that is given another result than success returns nothing any more', async () => {
    await fixture.push('a', 'b', 'c')
    const held = await fixture.poll(3)
    await fixture.complete(held, TaskDecision.success().withValue('1'))
    const [a, b, c] = held
    const valuesAfter = async (...results: readonly (readonly [Task, TaskResult])[]): Promise<unknown> => {
      await fixture.commit((transaction) => fixture.tasks.reassign(transaction, fixture.topic, new Map(results)))
      const endings = await fixture.commit<readonly (TaskEnding | undefined)[]>((transaction) =>
        fixture.tasks.endings(transaction, held),
      )
      return endings.map((ending) => ending?.value)
    }
    expect(await valuesAfter([a!, 'success'])).toEqual(['1', '1', '1'])
    expect(await valuesAfter([b!, 'failure'])).toEqual(['1', undefined, '1'])
    expect(await valuesAfter([b!, 'success'])).toEqual(['1', undefined, '1'])
    expect(await valuesAfter([a!, 'filter'], [b!, 'filter'], [c!, 'success'])).toEqual([undefined, undefined, '1'])
    expect(await valuesAfter([a!, 'success'], [b!, 'success'])).toEqual([undefined, undefined, '1'])
  })

  test('reassignAll corrects all of a state, in a range', async () => {
    const [a, b, c] = await failed('a', 'b', 'c')
    const all = (options: object): Promise<number> =>
      fixture.commit<number>((transaction) =>
        fixture.tasks.reassignAll(transaction, fixture.topic, { from: 'failed', to: 'success', ...options }),
      )
    expect(await all({ to: 'failure' })).toBe(0)
    expect(await all({ first: c!.sequence, last: a!.sequence })).toBe(0)
    expect(await all({ first: b!.sequence, last: b!.sequence })).toBe(1)
    expect((await fixture.page()).map(({ state }) => state)).toEqual(['failed', 'succeeded', 'failed'])
    expect(await all({})).toBe(2)
    expect(await codeOf(() => all({ from: 'active' }))).toBe('ARGUMENT_INVALID')
    expect(await codeOf(() => all({ to: 'expired' }))).toBe('ARGUMENT_INVALID')
  })

  test('a result that a task was given before it was completed counts as one, and being pushed suspended does not', async () => {
    const dead = await fixture.owner()
    await fixture.push('a', 'b')
    await fixture.poll(2, dead)
    await fixture.commit((transaction) => dead.unregister(transaction))
    await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 60_000 }))
    await fixture.push({ identifier: 'c', delayMs: 3_600_000 }, { identifier: 'd', suspended: true })
    const results = async (options?: ResultsOptions): Promise<Partial<Record<TaskResult, number>>> => {
      const counts = await fixture.commit<ReadonlyMap<string, ReadonlyMap<TaskResult, number>>>((transaction) =>
        fixture.tasks.results(transaction, options),
      )
      return Object.fromEntries(counts.get(fixture.topic)!)
    }
    const all = (options: ReassignAllOptions): Promise<number> =>
      fixture.commit<number>((transaction) => fixture.tasks.reassignAll(transaction, fixture.topic, options))
    expect(await results()).toEqual({})
    expect(await all({ from: 'expired', to: 'success' })).toBe(2)
    expect(await all({ from: 'delayed', to: 'failure' })).toBe(1)
    expect(await results()).toEqual({ success: 2, failure: 1 })
    expect(await all({ from: 'suspended', to: 'filter' })).toBe(1)
    expect(await results()).toEqual({ success: 2, failure: 1, filter: 1 })
    // None of them has a time of completion.
    expect(await results({ from: new Date(0) })).toEqual({})
    expect(await results({ to: new Date('2100-01-01') })).toEqual({})
  })
})
