/** Jobs that are pushed in one transaction without waiting for each other, or at all. */
import { codeOf } from '@taskstream/task-testing/suite'
import { defineJob, json, never } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

describe.skipIf(!canRun)('pushes of one transaction', () => {
  const fixture = useJobFixture()

  test('follow each other: a limit on entries is kept', async () => {
    const job = defineJob('limited-beside', { input: json<number>(), limits: { maxEntries: { count: 1, whenFull: 'reject' } } })
    await using stream = fixture.streamOf()
    await stream.prepare(job)
    const pushing = stream.transaction((transaction) => Promise.all([1, 2, 3].map(async (n) => stream.push(transaction, job, n))))
    expect(await codeOf(() => pushing)).toBe('TOPIC_FULL')
    expect(await fixture.states(job)).toEqual({})
    // None of them comes later, on its own.
    await stream.submit(job, 4)
    expect(await fixture.states(job)).toEqual({ ready: 1 })
  })

  test('undo the whole transaction if one of them is refused, though nobody has awaited it', async () => {
    const job = defineJob('limited-unawaited', {
      input: json<number>(),
      limits: { maxEntries: { count: 1, whenFull: 'reject' } },
    })
    const parent = defineJob('limited-parent', { retry: never })
    await using stream = fixture.streamOf()
    await stream.prepare(job)
    await stream.submit(job, 1)
    const pushed = (transaction: AnyTransaction): void => {
      void stream.push(transaction, job, 2)
    }
    expect(await codeOf(() => stream.transaction(pushed))).toBe('TOPIC_FULL')
    stream.handle(parent, ({ commit }) => commit(pushed))
    await stream.start()
    await stream.submit(parent)
    await expect.poll(() => fixture.states(parent)).toEqual({ failed: 1 })
    expect(await fixture.states(job)).toEqual({ ready: 1 })
  })
})
