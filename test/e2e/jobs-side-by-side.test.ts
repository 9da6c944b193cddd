/** Jobs that are pushed in one transaction without waiting for each other, or at all. */
import { setTimeout } from 'node:timers/promises'
import { codeOf } from '@taskstream/task-testing/suite'
import { defineJob, fixed, json, never } from 'taskstream'
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

  test('are not done once their transaction has failed, nor by what a handler goes on with after its commit', async () => {
    const [parent, child] = [
      defineJob('late-parent', { retry: fixed({ tries: 2, afterMs: 0 }) }),
      defineJob('late-child', { input: json<string>() }),
    ]
    await using stream = fixture.streamOf()
    await stream.prepare(parent, child)
    const late: Promise<unknown>[] = []
    const fail = async (): Promise<void> => {
      await setTimeout(1)
      throw new Error('no')
    }
    // A commit that shared its transaction with others runs once more alone, so there may be two.
    const pushLate = (transaction: AnyTransaction, id: string): void => {
      const push = async (): Promise<unknown> => {
        await setTimeout(50)
        return stream.push(transaction, child, `${id} late`)
      }
      late.push(codeOf(push))
    }
    stream.handle(
      parent,
      ({ id, tries, commit }) =>
        commit(async (transaction) => {
          if (tries > 1) return void (await stream.push(transaction, child, id))
          pushLate(transaction, id)
          await fail()
        }),
      { concurrency: 4 },
    )
    const ids = ['a', 'b', 'c', 'd', 'e']
    for (const id of ids) await stream.submit(parent, undefined, { id })
    await stream.start()
    await expect.poll(() => fixture.states(parent)).toEqual({ succeeded: 5 })
    expect(late.length).toBeGreaterThanOrEqual(5)
    expect(new Set(await Promise.all(late))).toEqual(new Set(['TRANSACTION_CLOSED']))
    const children = await fixture.page(child)
    expect(children.map(({ input }) => JSON.parse(input!) as string).toSorted()).toEqual(ids)
  })

  test('are what is advised instead of a submission, where that would wait for its own transaction', async (context) => {
    context.skip(fixture.subject.writers > 1, 'Each transaction has a connection of its own.')
    const job = defineJob('submitted-inside')
    await using stream = fixture.streamOf()
    await stream.prepare(job)
    const inside = (): Promise<unknown> => stream.transaction(() => stream.submit(job))
    await expect(inside()).rejects.toMatchObject({
      code: 'LIFECYCLE',
      message: expect.stringContaining('push it in that transaction'),
    })
    await expect(stream.transaction(() => stream.transaction(() => {}))).rejects.toMatchObject({
      message: expect.stringContaining('use the one there is'),
    })
    expect(await fixture.states(job)).toEqual({})
  })

  test('undo the whole transaction if one of them is refused early, though nobody has awaited it', async () => {
    const job = defineJob('limited-early', { input: json<number>(), limits: { maxEntries: { count: 1, whenFull: 'reject' } } })
    const other = defineJob('beside-early', { input: json<number>() })
    await using stream = fixture.streamOf()
    await stream.prepare(job, other)
    await stream.submit(job, 1)
    const pushed = stream.transaction(async (transaction) => {
      const refused = stream.push(transaction, job, 2)
      await stream.push(transaction, other, 3)
      await setTimeout(1)
      return [refused]
    })
    expect(await codeOf(() => pushed)).toBe('TOPIC_FULL')
    expect([await fixture.states(job), await fixture.states(other)]).toEqual([{ ready: 1 }, {}])
  })

  test.each(['cancel', 'retry', 'reschedule'] as const)(
    'are undone if a %s beside them is refused, though nobody has awaited it',
    async (verb) => {
      const [job, unknown] = [defineJob(`beside-${verb}`), defineJob(`unknown-${verb}`)]
      await using stream = fixture.streamOf()
      await stream.prepare(job)
      const pushed = stream.transaction(async (transaction) => {
        const refused = {
          cancel: () => stream.cancel(transaction, unknown, 'no'),
          retry: () => stream.retry(transaction, unknown, 'no'),
          reschedule: () => stream.reschedule(transaction, unknown, 'no', { delayMs: 1 }),
        }[verb]()
        await stream.push(transaction, job)
        await setTimeout(1)
        return [refused]
      })
      expect(await codeOf(() => pushed)).toBe('TOPIC_UNKNOWN')
      expect(await fixture.states(job)).toEqual({})
    },
  )

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
