/** A composite runs its steps in the order of their graph, and decides each task once. */
import { duplicates, partialBatch, supplementToken, TaskDecision, TaskSupplement } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { composite } from '@taskstream/task-processor'
import type { Step, StepContext } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { decide, gate, handlerContext, heldTasks, said } from '../composite.ts'

const { success, failure, filter, suspension } = TaskDecision
const [one, two, three] = heldTasks('a', 'b', 'c') as [HeldTask, HeldTask, HeldTask]
const tasks = [one, two, three]
const all = (decision: TaskDecision) => (given: readonly HeldTask[]) => new Map(given.map((task) => [task, decision]))
const names = (given: readonly HeldTask[]): string => given.map(({ identifier }) => identifier).join('')

describe('the steps of a composite', () => {
  test('begin with all tasks, and go on with what every step before them continued', async () => {
    const seen: string[] = []
    const see = (given: readonly HeldTask[], _: TaskSupplement, { step }: StepContext): void =>
      void seen.push(`${step.id} ${names(given)}`)
    const pipeline = composite()
      .each('left', ({ identifier }) => (identifier === 'a' ? filter('left') : undefined))
      .batch(
        'right',
        () =>
          new Map([
            [one, success('right')],
            [two, suspension('right').withContinuation(true)],
            [three, success()],
          ]),
      )
      .batch('after left', see, { after: ['left'] })
      .batch('after both', see, { after: ['left', 'right'] })
      .batch('first', see)
    const decisions = await decide(pipeline, tasks)
    expect(seen.toSorted()).toEqual(['after both bc', 'after left bc', 'first abc'])
    expect(said(decisions)).toEqual(['a filter: left, right', 'b suspension: right', 'c success'])
  })

  test('decide the weightiest of what any of them decided', async () => {
    const results = { success: success('s'), filter: filter('f'), suspension: suspension('u'), failure: failure('x') }
    for (const [index, heavier] of Object.values(results).entries())
      for (const lighter of Object.values(results).slice(0, index + 1))
        for (const [first, second] of [
          [heavier, lighter],
          [lighter, heavier],
        ] as const) {
          const beside = composite().batch('a', all(first)).batch('b', all(second))
          const behind = composite()
            .batch('a', all(first.withContinuation(true)))
            .batch('b', all(second), { after: ['a'] })
          for (const pipeline of [beside, behind]) {
            const decided = [...(await decide(pipeline, tasks)).values()].map(({ result }) => result)
            expect(decided).toEqual(tasks.map(() => heavier.result))
          }
        }
  })

  test('are not invoked when no task has come to them', async () => {
    let invoked = 0
    const pipeline = composite()
      .batch('none', all(success('not yet').withContinuation(false)))
      .batch('batch', () => void invoked++, { after: ['none'] })
      .each('each', () => void invoked++, { after: ['none'] })
      .batch('last', () => void invoked++, { after: ['batch', 'each'] })
    expect(said(await decide(pipeline, tasks))).toEqual(['a success: not yet', 'b success: not yet', 'c success: not yet'])
    expect(invoked).toBe(0)
  })

  test('run at the same time unless one waits for the other', async () => {
    const [left, right] = [gate(), gate()]
    const ended: string[] = []
    const pipeline = composite()
      .batch('left', () => left.pass())
      .each('right', () => right.pass())
      .batch('last', () => void ended.push('last'), { after: ['left', 'right'] })
    const decided = decide(pipeline, [one])
    await left.reached
    await right.reached
    left.open()
    // By the next turn of the event loop, a step that does not wait for the right one has run.
    await new Promise((resolve) => setImmediate(resolve))
    expect(ended).toEqual([])
    right.open()
    await decided
    expect(ended).toEqual(['last'])
  })

  test('hand values on by tokens, without casts; decisions are no values', async () => {
    const Words = supplementToken<readonly string[]>('words')
    const Count = supplementToken<number>('count')
    const pipeline = composite()
      .each('split', async ({ identifier }) => (identifier === 'b' ? filter('empty') : [identifier, identifier]), {
        provides: Words,
      })
      .each('count', (task, supplement) => supplement.require(Words, task).length, { after: ['split'], provides: Count })
      .batch(
        'sum',
        (given, supplement) =>
          supplement.register(
            Count,
            given.reduce((sum, task) => sum + supplement.require(Count, task), 0),
          ),
        {
          after: ['count'],
        },
      )
      .each('say', (_, supplement) => success(String(supplement.require(Count))), { after: ['sum'] })
    expect(said(await decide(pipeline, tasks))).toEqual(['a success: 4', 'b filter: empty', 'c success: 4'])
  })

  test('fail where they read what no step before them has provided', async () => {
    const Words = supplementToken<string>('words')
    const pipeline = composite().each('read', (task, supplement) => void supplement.require(Words, task))
    expect(said(await decide(pipeline, [one]))[0]).toContain('a failure: There is no supplement "words" of t/a@0')
  })

  test('share the supplement that was made for their batch', async () => {
    const Rate = supplementToken<number>('rate')
    const given: string[] = []
    const supplement = (batch: readonly HeldTask[]): TaskSupplement => {
      given.push(names(batch))
      const made = new TaskSupplement()
      made.register(Rate, 7)
      return made
    }
    const pipeline = composite({ supplement })
      .each('each', (_, own) => success(`each ${own.require(Rate)}`))
      .batch('batch', (given, own) => all(success(`batch ${own.require(Rate)}`))(given))
    expect(said(await decide(pipeline, [one]))).toEqual(['a success: each 7, batch 7'])
    expect(given).toEqual(['a'])
  })

  test('take filters of duplicates and handlers of partial batches as they are', async () => {
    const twice = [...heldTasks('a', 'a'), two]
    const pipeline = composite()
      .batch('latest', duplicates.outdated())
      .batch('some', partialBatch({ predicate: ({ identifier }) => identifier === 'b', delegate: all(suspension('later')) }), {
        after: ['latest'],
      })
    const results = [...(await decide(pipeline, twice)).values()].map(({ result }) => result)
    expect(results).toEqual(['filter', 'success', 'suspension'])
  })
})

describe('decorated steps', () => {
  test('are measured one by one, with what they decide and throw', async () => {
    const measured: string[] = []
    const decorated: Step[] = []
    const pipeline = composite({
      decorate: (step, run) => {
        decorated.push(step)
        return async (given, ...rest) => {
          try {
            const decisions = await run(given, ...rest)
            measured.push(`${step.id} of ${names(given)}: ${said(decisions).join(', ')}`)
            return decisions
          } catch (error) {
            measured.push(`${step.id} of ${names(given)}: ${String(error)}`)
            throw error
          }
        }
      },
    })
      .each('each', ({ identifier }) => (identifier === 'a' ? filter() : undefined))
      .batch(
        'batch',
        () => {
          throw new Error('broken')
        },
        { after: ['each'] },
      )
    const opened = pipeline.open('t')
    for (let batches = 0; batches < 2; batches++) await opened.handle([one, two], handlerContext())
    expect(measured.slice(0, 2)).toEqual(['each of ab: a filter, b success', 'batch of b: Error: broken'])
    expect(measured).toHaveLength(4)
    expect(decorated).toEqual([
      { id: 'each', kind: 'each', after: [] },
      { id: 'batch', kind: 'batch', after: ['each'] },
    ])
  })

  test('must be functions again', () => {
    expect(() =>
      composite({ decorate: () => undefined as never })
        .each('a', () => {})
        .open('t'),
    ).toThrow('decorate of step "a" must return a function')
  })
})
