/** Tasks that nobody keeps are deleted in the transaction that ends them. */
import { TaskDecision } from '@taskstream/task-api'
import type { Completion, DiscardedState, HeldTask, TaskAttempt } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { part } from './engine.ts'
import type { Part } from './engine.ts'
import { codeOf, names, useFixture } from './fixture.ts'

export const discard: Part = part('a task that is not kept', (engine) => {
  const fixture = useFixture(engine, { topic: { condition: 'singular-by-identifier' } })
  const { failure, filter, retry, success } = TaskDecision

  const complete = (
    decisions: readonly (readonly [HeldTask, TaskDecision])[],
    states: readonly DiscardedState[],
  ): Promise<Completion> =>
    fixture.commit<Completion>((transaction) =>
      fixture.tasks.complete(transaction, fixture.topic, new Map(decisions), { discard: states }),
    )

  test('is gone with what it has returned and its attempts, and what waited for it goes on', async () => {
    await fixture.push('a', 'a', 'b')
    const [a, b] = await fixture.poll(3)
    await complete([[a!, retry({ afterMs: 0 })]], ['succeeded'])
    await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
    const [again] = await fixture.poll(1)
    expect(again!.sequence).toBe(a!.sequence)
    const completion = await complete(
      [
        [again!, success().withValue('1')],
        [b!, success()],
      ],
      ['succeeded'],
    )
    expect(completion).toMatchObject({ completed: [again, b], lost: [] })
    expect(await fixture.states()).toEqual({ ready: 1 })
    const attempts = await fixture.commit<readonly TaskAttempt[]>((transaction) =>
      fixture.tasks.attempts(transaction, fixture.topic, a!.sequence),
    )
    expect(attempts).toEqual([])
    expect(names(await fixture.poll(3))).toEqual(['a'])
  })

  test('is not one that ended in another way, or is tried again', async () => {
    await fixture.push('a', 'b', 'c', { identifier: 'd', maxTries: 1 }, 'e')
    const [a, b, c, d, e] = await fixture.poll(5)
    await complete(
      [
        [a!, failure('no')],
        [b!, filter()],
        [c!, success()],
        [d!, retry({ afterMs: 60_000 })],
        [e!, retry({ afterMs: 60_000 })],
      ],
      ['failed', 'filtered'],
    )
    expect(await fixture.states()).toEqual({ succeeded: 1, delayed: 1 })
  })

  test('stays if another one needs it', async () => {
    const [needed] = await fixture.push('needed')
    const [waiting] = await fixture.push({ identifier: 'waiting', suspended: true })
    await fixture.commit<unknown>((transaction) => fixture.tasks.depend(transaction, waiting!, [{ need: 'x', on: needed! }]))
    const [held] = await fixture.poll(1)
    await complete([[held!, success()]], ['succeeded'])
    expect(await fixture.states()).toEqual({ succeeded: 1, blocked: 1 })
  })

  test('may be the only one of its batch, or one of many that others need or do not', async () => {
    const [needed, , alone] = await fixture.push('needed', 'other', 'alone')
    const [waiting] = await fixture.push({ identifier: 'waiting', suspended: true })
    await fixture.commit<unknown>((transaction) => fixture.tasks.depend(transaction, waiting!, [{ need: 'x', on: needed! }]))
    const held = await fixture.poll(3)
    await complete([[held.find(({ sequence }) => sequence === alone!.sequence)!, success()]], ['succeeded'])
    expect(await fixture.states()).toEqual({ active: 2, blocked: 1 })
    const both = held.filter(({ sequence }) => sequence !== alone!.sequence).toReversed()
    await complete(
      both.map((task) => [task, success()] as const),
      ['succeeded'],
    )
    expect(await fixture.states()).toEqual({ succeeded: 1, blocked: 1 })
  })

  test('is in a state in which a completion ends a task', async () => {
    expect(await codeOf(() => complete([], ['succeeded', 'ready' as never]))).toBe('ARGUMENT_INVALID')
    expect(await codeOf(() => complete([], 'failed' as never))).toBe('ARGUMENT_INVALID')
    expect(await codeOf(() => complete([], ['ready' as never]))).toBe('ARGUMENT_INVALID')
  })
})
