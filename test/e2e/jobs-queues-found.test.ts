/** A verb for a job of a queue finds, cancels and changes the jobs of its own definition alone. */
import { thrownBy } from '@taskstream/task-testing/suite'
import { defineJob, defineQueue, json, never } from 'taskstream'
import type { JobDetails, JobInfo, TaskError } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

describe.skipIf(!canRun)('the jobs of a queue', () => {
  const fixture = useJobFixture()

  test('of other definitions are refused by name wherever one job is named, and nothing is done to them', async () => {
    const queue = defineQueue('shared-named', { keyed: true })
    const key = (): string => 'k'
    const mine = defineJob('named:mine', { queue, key })
    const other = defineJob('named:other', { queue, key })
    await using stream = fixture.streamOf()
    await stream.prepare(mine, other)
    const ref = await stream.submit(other, undefined, { id: 'theirs' })
    await fixture.commit((transaction) => stream.tasks.push(transaction, queue.name, [{ identifier: 'k', externalId: 'nobody' }]))
    for (const selector of ['theirs', ref, `@${ref.sequence}`, 'nobody'] as never[]) {
      const verbs: Readonly<Record<string, () => unknown>> = {
        cancel: () => fixture.commit((transaction) => stream.cancel(transaction, mine, selector)),
        reschedule: () => fixture.commit((transaction) => stream.reschedule(transaction, mine, selector, { delayMs: 9_000 })),
        get: () => fixture.commit((transaction) => stream.get(transaction, mine, selector)),
        retry: () => fixture.commit((transaction) => stream.retry(transaction, mine, selector)),
        attempts: () => fixture.commit((transaction) => stream.attempts(transaction, mine, selector)),
        wait: () => stream.wait(mine, selector),
      }
      for (const [verb, call] of Object.entries(verbs)) {
        const error = (await thrownBy(call)) as TaskError
        expect([verb, error.code, error.data['argument']]).toEqual([verb, 'ARGUMENT_INVALID', 'selector'])
        expect(error.message).toContain('must be of the job "named:mine", and ')
        expect(error.message).toContain(
          selector === 'nobody' ? 'was pushed without the name of a job' : 'is of "named:other" in the queue "shared-named"',
        )
      }
    }
    expect(await fixture.states(queue)).toEqual({ ready: 2 })
    const unknown = await fixture.commit<JobDetails | undefined>((transaction) => stream.get(transaction, mine, 'not there'))
    expect(unknown).toBeUndefined()
    // Ids are unique in the queue.
    expect(await stream.submit(mine, undefined, { id: 'theirs' })).toMatchObject({ outcome: 'duplicate', sequence: ref.sequence })
  })

  test('are cancelled and rescheduled by a key, by an id and by a reference, without those of other definitions', async () => {
    const queue = defineQueue('shared-keyed', { keyed: true })
    const mine = defineJob('keyed:mine', { queue, input: json<string>(), key: (input) => input })
    const other = defineJob('keyed:other', { queue, input: json<string>(), key: (input) => input })
    await using stream = fixture.streamOf()
    await stream.prepare(mine, other)
    for (const job of [mine, other, mine]) await stream.submit(job, 'a')
    const ref = await stream.submit(mine, 'b', { id: 'by id' })
    await stream.submit(mine, 'c')
    const cancelled = async (selector: { key: string } | string): Promise<number> => {
      const cancellation = await stream.transaction((transaction) => stream.cancel(transaction, mine, selector))
      return cancellation.cancelled.length
    }
    expect(await cancelled({ key: 'a' })).toBe(2)
    expect(await cancelled({ key: 'a' })).toBe(0)
    expect(await cancelled({ key: 'nobody' })).toBe(0)
    await stream.transaction((transaction) => stream.reschedule(transaction, mine, ref, { delayMs: 3_600_000 }))
    await stream.transaction((transaction) => stream.reschedule(transaction, mine, { key: 'c' }, { delayMs: 3_600_000 }))
    expect(await fixture.states(queue)).toEqual({ filtered: 2, ready: 1, delayed: 2 })
    expect(await cancelled('by id')).toBe(1)
    expect((await fixture.page(queue)).map(({ identifier, state }) => [identifier, state])).toEqual([
      ['a', 'filtered'],
      ['a', 'ready'],
      ['a', 'filtered'],
      ['b', 'filtered'],
      ['c', 'suspended'],
    ])
    const superseding = thrownBy(() =>
      stream.transaction((transaction) => stream.pushMany(transaction, mine, [['a']], { insertion: 'supersede' })),
    )
    expect(await superseding).toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument: 'insertion' } })
  })

  test('that are handled are told if they are cancelled, and are tried again by hand', async () => {
    const queue = defineQueue('shared-cancelled')
    const job = defineJob('cancelled:one', { queue, retry: never })
    const begun = Promise.withResolvers<void>()
    let fails = true
    await using stream = fixture.streamOf()
    stream.handle(job, async ({ id, signal }) => {
      if (id === 'fails' && fails) throw new Error('at first')
      if (id !== 'cancelled') return
      begun.resolve()
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    })
    await stream.start()
    const ref = await stream.submit(job, undefined, { id: 'cancelled' })
    await begun.promise
    await stream.transaction((transaction) => stream.cancel(transaction, job, ref))
    expect(await thrownBy(() => stream.wait(job, ref))).toMatchObject({ code: 'JOB_ENDED', data: { reason: 'cancelled' } })
    await stream.submit(job, undefined, { id: 'fails' })
    expect(await thrownBy(() => stream.wait(job, 'fails'))).toMatchObject({ code: 'JOB_ENDED' })
    const attempts = await fixture.commit<readonly unknown[]>((transaction) => stream.attempts(transaction, job, 'fails'))
    expect(attempts).toMatchObject([{ outcome: 'failed' }])
    expect(await fixture.commit<readonly unknown[]>((transaction) => stream.attempts(transaction, job, 'none'))).toEqual([])
    fails = false
    await stream.transaction((transaction) => stream.retry(transaction, job, 'fails'))
    await stream.wait(job, 'fails')
  })

  test('are listed and found without those of others, page by page', async () => {
    const queue = defineQueue('shared-listed')
    const rare = defineJob('listed:rare', { queue, input: json<number>() })
    const common = defineJob('listed:common', { queue, input: json<number>() })
    await using stream = fixture.streamOf()
    await stream.prepare(rare, common)
    await fixture.commit(async (transaction) => {
      for (let n = 0; n < 4; n++) {
        const items = Array.from({ length: 150 }, (_, index) => [150 * n + index, { tags: { even: index % 2 === 0 } }] as const)
        await stream.pushMany(transaction, common, items as never)
        await stream.pushMany(transaction, rare, [[n, { tags: { even: n % 2 === 0 } }]])
      }
    })
    const list = (options: object): Promise<readonly number[]> =>
      fixture
        .commit<JobInfo<string, number>[]>((transaction) => stream.list(transaction, rare, options))
        .then((jobs) => jobs.map(({ input }) => input))
    expect(await list({})).toEqual([0, 1, 2, 3])
    expect(await list({ size: 2 })).toEqual([0, 1])
    expect(await list({ states: ['failed'] })).toEqual([])
    const [, second] = await fixture.commit<JobInfo[]>((transaction) => stream.list(transaction, rare, { size: 2 }))
    expect(await list({ after: second!.task.sequence })).toEqual([2, 3])
    expect(await list({ before: second!.task.sequence })).toEqual([0])
    for (const size of [0, 1.5, 100_001])
      expect(await thrownBy(() => list({ size }))).toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument: 'size' } })
    const found = await fixture.commit<{ jobs: readonly JobInfo[]; lookedAt: number; next: unknown }>((transaction) =>
      stream.find(transaction, rare, { tags: { even: true } }),
    )
    expect(found).toMatchObject({ jobs: [{ input: 0 }, { input: 2 }], lookedAt: 604, next: undefined })
  })
})
