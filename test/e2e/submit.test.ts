/** Tasks that many callers submit at once are pushed together, and each caller gets its own outcome. */
import { TaskError } from '@taskstream/task-api'
import type { Insertion, PushedTask, TaskCreation, TransactionSource } from '@taskstream/task-api'
import { eachTask, Submitter } from '@taskstream/task-processor'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'
import { soundSleeper } from './sound-sleeper.ts'

describe.skipIf(!canRun)('a submitter', () => {
  const fixture = useNodeFixture('submit')
  /** Transactions that were begun. */
  let begun = 0
  let refuse: TaskError | undefined
  const transactions: TransactionSource<AnyTransaction> = (work) => {
    begun++
    return fixture.commit(async (transaction) => {
      const result = await work(transaction)
      if (refuse) throw refuse
      return result
    })
  }
  const open = (pending = 100_000): Submitter<AnyTransaction> =>
    new Submitter({ repository: fixture.tasks, transactions, pending })
  beforeEach(async () => {
    begun = 0
    refuse = undefined
    await fixture.next({ keyed: true })
  })

  test('pushes what many submit at once in few transactions, each in the order of its calls, with its own outcome', async () => {
    await using submitter = open()
    const callers = Array.from({ length: 10 }, (_, caller) =>
      Array.from({ length: 100 }, (__, call) => submitter.submit(fixture.topic, `${caller}-${call}`)),
    )
    const outcomes = await Promise.all(callers.map((calls) => Promise.all(calls)))
    expect(begun).toBeLessThanOrEqual(5)
    outcomes.forEach((calls, caller) => {
      const tasks = calls.flat()
      expect(tasks.map(({ identifier }) => identifier)).toEqual(tasks.map((_, call) => `${caller}-${call}`))
      const sequences = tasks.map(({ sequence }) => sequence)
      expect(sequences).toEqual(sequences.toSorted((left, right) => left - right))
      expect(tasks.every(({ outcome }) => outcome === 'created')).toBe(true)
    })
    expect(await fixture.states()).toEqual({ ready: 1000 })
    // A submission of no tasks has no outcomes.
    expect(await submitter.submit(fixture.topic, [])).toEqual([])
  })

  test('refuses the bad ones alone, whatever they went with', async () => {
    await using submitter = open()
    const results = await Promise.allSettled([
      submitter.submit(fixture.topic, 'a'),
      submitter.submit(fixture.topic, { identifier: '' }),
      submitter.submit('never-initialised', 'b'),
      submitter.submit(fixture.topic, [{ identifier: 'c' }, { identifier: 'd', delayMs: -1 }]),
      submitter.submit(fixture.topic, 'e', { insertion: 'sometimes' as Insertion }),
      submitter.submit(fixture.topic, ['f', 'g']),
    ])
    const seen = results.map((result) =>
      result.status === 'fulfilled' ? result.value.length : (result.reason as TaskError).code,
    )
    expect(seen).toEqual([1, 'ARGUMENT_INVALID', 'TOPIC_UNKNOWN', 'ARGUMENT_INVALID', 'ARGUMENT_INVALID', 2])
    expect((await fixture.page()).map(({ identifier }) => identifier)).toEqual(['a', 'f', 'g'])
  })

  test('tries each alone when another transaction is in the way of all together, and rejects what it is in the way of', async () => {
    const push: typeof fixture.tasks.push = (transaction, topic, creations, options) => {
      const names = [creations].flat().map((creation) => (creation as TaskCreation).identifier)
      if (names.length > 1 || names[0] === 'b') throw new TaskError('TRANSACTION_CONFLICT', 'a deadlock')
      return fixture.tasks.push(transaction, topic, creations, options)
    }
    await using submitter = new Submitter({ repository: { push }, transactions })
    const submit = (identifier: string): Promise<PushedTask[]> => submitter.submit(fixture.topic, [{ identifier }])
    const results = await Promise.allSettled(['a', 'b', 'c'].map(submit))
    expect(results.map((result) => (result.status === 'fulfilled' ? 'pushed' : (result.reason as TaskError).code))).toEqual([
      'pushed',
      'TRANSACTION_CONFLICT',
      'pushed',
    ])
    expect((await fixture.page()).map(({ identifier }) => identifier)).toEqual(['a', 'c'])
  })

  test('rejects all that went together when the database fails, and does not try again by itself', async () => {
    await using submitter = open()
    refuse = new TaskError('DATABASE_UNAVAILABLE', 'the commit was not answered')
    const results = await Promise.allSettled(['a', 'b', 'c'].map((identifier) => submitter.submit(fixture.topic, identifier)))
    expect(results.map((result) => result.status === 'rejected' && (result.reason as TaskError).code)).toEqual(
      Array.from({ length: 3 }, () => 'DATABASE_UNAVAILABLE'),
    )
    expect(begun).toBe(1)
    refuse = undefined
    await submitter.submit(fixture.topic, 'd')
    expect((await fixture.page()).map(({ identifier }) => identifier)).toEqual(['d'])
  })

  test('gives each submission the outcome that it would have had alone', async () => {
    const creation = fc.record(
      { identifier: fc.constantFrom('a', 'b', 'c'), externalId: fc.constantFrom('x', 'y'), suspended: fc.boolean() },
      { requiredKeys: ['identifier'] },
    )
    const submission = fc.record({
      creations: fc.array(creation, { maxLength: 3 }),
      insertion: fc.constantFrom<Insertion>('append', 'append', 'append', 'supersede', 'replace', 'delete'),
    })
    /** Leaves out the sequences, which differ between the two ways. */
    const plain = (pushed: readonly PushedTask[]): unknown[] =>
      pushed.map(({ identifier, outcome, superseded }) => [identifier, outcome, superseded])
    const rows = async (): Promise<unknown[]> =>
      (await fixture.page()).map(({ identifier, externalId, state }) => [identifier, externalId, state])
    await fc.assert(
      fc.asyncProperty(fc.array(submission, { maxLength: 8 }), async (submissions) => {
        await fixture.next({ keyed: true })
        const alone: unknown[] = []
        for (const { creations, insertion } of submissions) {
          const pushed = await fixture.commit<PushedTask[]>((transaction) =>
            fixture.tasks.push(transaction, fixture.topic, creations as TaskCreation[], { insertion }),
          )
          alone.push(plain(pushed))
        }
        const expected = await rows()
        await fixture.next({ keyed: true })
        await using submitter = open()
        const together = await Promise.all(
          submissions.map(({ creations, insertion }) =>
            submitter.submit(fixture.topic, creations as TaskCreation[], { insertion }),
          ),
        )
        expect(together.map(plain)).toEqual(alone)
        expect(await rows()).toEqual(expected)
      }),
      { numRuns: 40 },
    )
  })

  test('takes in no more than may be pending, and keeps the order of those who wait', async () => {
    await using submitter = open(3)
    const results = await Promise.all([
      submitter.submit(fixture.topic, ['a', 'b']),
      submitter.submit(fixture.topic, ['c', 'd']),
      submitter.submit(fixture.topic, ['e']),
      // A submission that is larger than the limit comes in alone.
      submitter.submit(fixture.topic, ['f', 'g', 'h', 'i', 'j']),
      submitter.submit(fixture.topic, ['k']),
    ])
    expect(results.flat().map(({ identifier }) => identifier)).toEqual([...'abcdefghijk'])
    expect((await fixture.page()).map(({ identifier }) => identifier)).toEqual([...'abcdefghijk'])
    expect(begun).toBeGreaterThan(2)
  })

  test('pushes all it was given before it closes, and takes nothing after', async () => {
    const submitter = open()
    const submitted = submitter.submit(fixture.topic, 'a')
    await submitter[Symbol.asyncDispose]()
    expect(await submitted).toHaveLength(1)
    await expect(submitter.submit(fixture.topic, 'b')).rejects.toMatchObject({ code: 'LIFECYCLE' })
    expect(() => open(0)).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
  })

  test('refuses what is submitted inside a transaction on the only connection, and nothing that was submitted with it', async (context) => {
    context.skip(fixture.subject.writers > 1, 'A server has another connection to submit over.')
    await using submitter = new Submitter({ repository: fixture.tasks, transactions: fixture.subject.transactions })
    const begun = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    const outer = fixture.commit(async () => {
      begun.resolve()
      await goOn.promise
      await submitter.submit(fixture.topic, 'inside')
    })
    await begun.promise
    // It waits for the transaction that is open.
    const outside = submitter.submit(fixture.topic, 'outside')
    goOn.resolve()
    await expect(outer).rejects.toMatchObject({ code: 'LIFECYCLE' })
    expect(await outside).toHaveLength(1)
    expect((await fixture.page()).map(({ identifier }) => identifier)).toEqual(['outside'])
  })

  test('of a node wakes the topic where it is processed, once that is committed', async () => {
    const { node, isAsleep } = soundSleeper({ repository: fixture.tasks, transactions: fixture.subject.transactions })
    node.process(fixture.topic, { handler: eachTask(() => {}) })
    await node.start()
    await expect.poll(isAsleep).toBe(true)
    expect(await node.submit(fixture.topic, 'a')).toHaveLength(1)
    await expect.poll(() => fixture.states()).toEqual({ succeeded: 1 })
    await node.stop()
    await expect(node.submit(fixture.topic, 'b')).rejects.toMatchObject({ code: 'LIFECYCLE' })
  })
})
