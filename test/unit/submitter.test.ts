/** Submissions are pushed in their order, whenever they come, and none is left behind. */
import { Submitter } from '@taskstream/task-processor'
import type { SubmitterOptions } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { soon } from './answering.ts'

/** A submitter whose transactions take a turn, and note what they push. */
function submitterOf(
  pushed: unknown[],
  turn: () => Promise<unknown> = () => Promise.resolve(),
  more: Partial<SubmitterOptions<object>> = {},
): Submitter<object> {
  const push = async (_: object, __: string, creations: readonly unknown[]): Promise<readonly unknown[]> => {
    pushed.push(...creations)
    return creations
  }
  return new Submitter<object>({
    repository: { push } as never,
    transactions: async (work) => {
      await turn()
      return work({})
    },
    ...more,
  })
}

describe('a submission', () => {
  test.each(Array.from({ length: 60 }, (_, ticks) => ticks))('is not left behind %i microtasks after another', async (ticks) => {
    const submitter = submitterOf([])
    const first = submitter.submit('mail', 'a')
    for (let tick = 0; tick < ticks; tick++) await undefined
    expect(await soon(Promise.all([first, submitter.submit('mail', 'b')]))).toHaveLength(2)
  })

  test('is pushed before its submitter has closed', async () => {
    const pushed: unknown[] = []
    const submitter = submitterOf(pushed, () => new Promise((resolve) => setImmediate(resolve)))
    const submitted = submitter.submit('mail', 'a')
    await submitter[Symbol.asyncDispose]()
    expect(pushed).toEqual(['a'])
    await submitted
  })

  test('is not overtaken when it waited for room', async () => {
    const pushed: unknown[] = []
    let last: Promise<unknown> | undefined
    const onCommitted = (): void => queueMicrotask(() => (last ??= submitter.submit('mail', 'c')))
    const submitter = submitterOf(pushed, undefined, { pending: 2, onCommitted })
    await Promise.all([submitter.submit('mail', ['a1', 'a2']), submitter.submit('mail', 'b')])
    await soon(last!)
    expect(pushed).toEqual(['a1', 'a2', 'b', 'c'])
  })
})
