/** Delegates that decide groups of duplicates, and outdated tasks. */
import { duplicates, isCompleted, supplementToken, TaskSupplement } from '@taskstream/task-api'
import type { Task, TaskDecision } from '@taskstream/task-api'
import { describe, expect, expectTypeOf, test } from 'vitest'

const batch = ['a', 'b', 'a', 'c', 'b', 'a'].map((identifier, index): Task => ({ topic: 't', identifier, sequence: index + 1 }))

const results = (decisions: ReadonlyMap<Task, TaskDecision>): string[] =>
  [...decisions].map(([{ identifier, sequence }, { result }]) => `${identifier}${sequence} ${result}`)

describe('all', () => {
  test('members of a group of duplicates fail, and singles succeed', () => {
    const decisions = duplicates.all()(batch)
    expect(results(decisions)).toEqual(['a1 failure', 'b2 failure', 'a3 failure', 'c4 success', 'b5 failure', 'a6 failure'])
    expect(decisions.get(batch[1]!)?.toMessage()).toBe('Duplicates of "b": t/b@2, t/b@5; kept: none')
    expect(decisions.get(batch[3]!)?.toMessage()).toBeUndefined()
  })

  test('get the result that is asked for', () => {
    expect(results(duplicates.all({ result: 'suspension' })(batch.slice(0, 3)))).toEqual([
      'a1 suspension',
      'b2 success',
      'a3 suspension',
    ])
  })
})

describe('outdated', () => {
  test('duplicates are filtered, and the highest sequence succeeds', () => {
    const decisions = duplicates.outdated()(batch)
    expect(results(decisions)).toEqual(['a1 filter', 'b2 filter', 'a3 filter', 'c4 success', 'b5 success', 'a6 success'])
    expect(decisions.get(batch[0]!)?.toMessage()).toBe('Duplicates of "a": t/a@1, t/a@3, t/a@6; kept: t/a@6')
    expect([...decisions.values()].every(({ result, continued }) => continued === (result === 'success'))).toBe(true)
  })

  test('are told by sequence, whatever the order of the batch, which decisions keep', () => {
    expect(results(duplicates.outdated({ result: 'failure' })(batch.toReversed()))).toEqual([
      'a6 success',
      'b5 success',
      'c4 success',
      'a3 failure',
      'b2 failure',
      'a1 failure',
    ])
  })

  test('keeps the first of those that have the same sequence, of several topics', () => {
    const tasks = ['t', 'u', 'v'].map((topic): Task => ({ topic, identifier: 'a', sequence: 7 }))
    expect([...duplicates.outdated()(tasks).values()].map(({ result }) => result)).toEqual(['success', 'filter', 'filter'])
  })

  test('duplicates have the same key, of what is known of a task', () => {
    const Customer = supplementToken<string>('customer')
    const supplement = new TaskSupplement()
    for (const task of batch) supplement.register(Customer, task.identifier === 'c' ? 'ann' : 'bob', task)
    const filter = duplicates.outdated({ key: (task, supplement) => supplement.require(Customer, task) })
    expect(results(filter(batch, supplement)).filter((line) => line.endsWith('success'))).toEqual(['c4 success', 'a6 success'])
  })
})

describe('a selector', () => {
  test('is given each group once, and what it keeps succeeds', () => {
    const supplement = new TaskSupplement()
    const asked: unknown[] = []
    const filter = duplicates.select((tasks, given, key) => {
      asked.push([key, tasks.map(({ sequence }) => sequence), given === supplement])
      return tasks.slice(0, 2).map((task) => ({ ...task }))
    })
    const decisions = filter(batch, supplement)
    expect(asked).toEqual([
      ['a', [1, 3, 6], true],
      ['b', [2, 5], true],
    ])
    expect(results(decisions)).toEqual(['a1 success', 'b2 success', 'a3 success', 'c4 success', 'b5 success', 'a6 filter'])
    expect(decisions.get(batch[5]!)?.toMessage()).toBe('Duplicates of "a": t/a@1, t/a@3, t/a@6; kept: t/a@1, t/a@3')
  })

  test('cannot keep what is not of the group', () => {
    expect(() => duplicates.select(() => [batch[3]!])(batch)).toThrow(
      expect.objectContaining({ code: 'TASK_UNKNOWN', data: { task: batch[3] } }),
    )
  })
})

describe('a filter of duplicates', () => {
  test('gives decisions for the very type of its tasks', () => {
    interface Parcel extends Task {
      readonly weight: number
    }
    const parcels = batch.map((task): Parcel => ({ ...task, weight: 1 }))
    expectTypeOf(duplicates.all()(parcels)).toExtend<Map<Parcel, TaskDecision>>()
    const byWeight = duplicates.all({ key: ({ weight }: Parcel) => String(weight) })
    expect(byWeight(parcels.slice(0, 1)).size).toBe(1)
    // @ts-expect-error -- these tasks have no weight
    expect(byWeight(batch.slice(0, 1)).size).toBe(1)
  })

  test('takes a task that stands twice for no duplicate of itself', () => {
    const [first, , third] = batch as [Task, Task, Task]
    expect(results(duplicates.all()([first, { ...first }]))).toEqual(['a1 success', 'a1 success'])
    expect(results(duplicates.outdated()([third, first, { ...third }]))).toEqual(['a3 success', 'a1 filter', 'a3 success'])
  })

  test('decides nothing of nothing, and names at most 20 of a group', () => {
    expect(duplicates.all()([]).size).toBe(0)
    const many = Array.from({ length: 30 }, (_, sequence): Task => ({ topic: 't', identifier: 'a', sequence }))
    const message = duplicates.outdated()(many).get(many[0]!)?.toMessage()
    expect(message).toMatch(/t\/a@19 and 10 more; kept: t\/a@29$/)
    expect(message).not.toContain('t/a@20')
    const twenty = duplicates.outdated()(many.slice(0, 20)).get(many[0]!)?.toMessage()
    expect(twenty).toMatch(/t\/a@18, t\/a@19; kept: t\/a@19$/)
  })

  test('leads to completed states only', () => {
    expect([...duplicates.outdated()(batch).values()].every(({ state }) => isCompleted(state))).toBe(true)
  })
})
