/** Ended tasks are given another result. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, Task } from '@taskstream/task-api'
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
})
