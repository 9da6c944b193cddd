/** A delegate of part of a batch sees what matches, and decides of nothing else. */
import { partialBatch, TaskDecision, TaskDecisionError } from '@taskstream/task-api'
import type { Task } from '@taskstream/task-api'
import type { BatchHandler } from '@taskstream/task-processor'
import { describe, expect, expectTypeOf, test } from 'vitest'

const batch = ['a', 'b', 'c', 'd'].map((identifier, sequence): Task => ({ topic: 't', identifier, sequence }))
const [a, b, c, d] = batch as [Task, Task, Task, Task]
const odd = ({ sequence }: Task): boolean => sequence % 2 === 1
const { success, filter, suspension } = TaskDecision

const lines = (decisions: ReadonlyMap<Task, TaskDecision>): string[] =>
  [...decisions].map(([{ identifier }, { result, explanations }]) => [identifier, result, ...explanations.map(String)].join(' '))

type Decided = ReadonlyMap<Task, TaskDecision> | void
/** Both forms keep the same promises. */
const forms = [
  ['a synchronous', (delegate: (tasks: readonly Task[]) => Decided) => delegate],
  ['an asynchronous', (delegate: (tasks: readonly Task[]) => Decided) => async (tasks: readonly Task[]) => delegate(tasks)],
] as const

describe.each(forms)('%s delegate', (_, form) => {
  test('sees only what matches, in order, and decides of it', async () => {
    let seen: readonly Task[] = []
    const delegate = form((tasks) => {
      seen = tasks
      return new Map(tasks.toReversed().map((task) => [task, filter('old')]))
    })
    expect(lines(await partialBatch({ predicate: odd, delegate })(batch))).toEqual([
      'a success',
      'b filter old',
      'c success',
      'd filter old',
    ])
    expect(seen).toEqual([b, d])
  })

  test('is not called when nothing matches', async () => {
    let called = false
    const delegate = form(() => void (called = true))
    expect(lines(await partialBatch({ predicate: () => false, delegate })([a, b]))).toEqual(['a success', 'b success'])
    expect(lines(await partialBatch({ predicate: () => true, delegate })([]))).toEqual([])
    expect(called).toBe(false)
  })

  test('that throws fails what matches, and nothing else', async () => {
    const delegate = form(() => {
      throw new Error('broken')
    })
    expect(lines(await partialBatch({ predicate: odd, delegate })(batch))).toEqual([
      'a success',
      'b failure Error: broken',
      'c success',
      'd failure Error: broken',
    ])
  })

  test('may throw a decision', async () => {
    const delegate = form(() => {
      throw new TaskDecisionError(suspension('later'))
    })
    expect(lines(await partialBatch({ predicate: odd, delegate })([a, b]))).toEqual(['a success', 'b suspension later'])
  })

  test('that leaves tasks out, or returns nothing, leaves them to the fallback', async () => {
    const options = { predicate: odd, fallback: filter('not mine') }
    const some = form(() => new Map([[d, success('sent')]]))
    expect(lines(await partialBatch({ ...options, delegate: some })(batch))).toEqual([
      'a filter not mine',
      'b filter not mine',
      'c filter not mine',
      'd success sent',
    ])
    expect(lines(await partialBatch({ ...options, delegate: form(() => {}) })([b]))).toEqual(['b filter not mine'])
  })

  test('may decide of others, too', async () => {
    const other: Task = { topic: 't', identifier: 'x', sequence: 9 }
    const delegate = form(
      () =>
        new Map([
          [other, filter('extra')],
          [c, filter('of the batch')],
        ]),
    )
    expect(lines(await partialBatch({ predicate: odd, delegate })(batch))).toEqual([
      'a success',
      'b success',
      'c filter of the batch',
      'd success',
      'x filter extra',
    ])
  })

  test('that returns no Map fails what matches: it cannot be taken for a success', async () => {
    const delegate = form(() => ({ b: success() }) as unknown as Decided)
    expect(lines(await partialBatch({ predicate: odd, delegate })([a, b]))).toEqual([
      'a success',
      'b failure TaskError: delegate must return a Map of its tasks to decisions, or nothing: [object Object]',
    ])
  })
})

describe('a partial batch', () => {
  test('answers as its delegate does', () => {
    expectTypeOf(partialBatch({ predicate: odd, delegate: () => new Map<Task, TaskDecision>() })(batch)).toEqualTypeOf<
      Map<Task, TaskDecision>
    >()
    expect(partialBatch({ predicate: odd, delegate: () => {} })(batch)).toBeInstanceOf(Map)
    expect(partialBatch({ predicate: odd, delegate: async () => {} })(batch)).toBeInstanceOf(Promise)
  })

  test('is a handler of its own, and hands on what it is given beside the tasks', () => {
    let given: unknown
    const partial = partialBatch({
      predicate: odd,
      delegate: (_, context) => {
        given = context
      },
    } satisfies { predicate: typeof odd; delegate: BatchHandler<unknown> })
    expectTypeOf(partial).toExtend<BatchHandler<unknown>>()
    const context = { topic: 't' } as Parameters<BatchHandler<unknown>>[1]
    void partial(batch as never, context)
    expect(given).toBe(context)
  })

  test('throws what its predicate throws', () => {
    const predicate = (): boolean => {
      throw new Error('broken')
    }
    expect(() => partialBatch({ predicate, delegate: () => {} })(batch)).toThrow('broken')
  })
})
