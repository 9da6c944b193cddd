/** Jobs are found by their tags, and it is told how far was looked. */
import { codeOf } from '@taskstream/task-testing/suite'
import { defineJob, json } from 'taskstream'
import type { FindOptions, FoundJobs, Job, JobPushOptions } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'
import type { TestStream } from './job-fixture.ts'

describe.skipIf(!canRun)('jobs that have tags', () => {
  const fixture = useJobFixture()

  type Tagged<Name extends string> = Job<Name, number>
  const find = <Name extends string>(
    stream: TestStream,
    job: Tagged<Name>,
    options: FindOptions,
  ): Promise<FoundJobs<Name, number>> =>
    fixture.commit<FoundJobs<Name, number>>((transaction) => stream.find(transaction, job, options))
  const inputs = ({ jobs }: FoundJobs<string, number>): number[] => jobs.map(({ input }) => input)

  test('are found by each of them, by value and type, those of the definition included', async () => {
    const job = defineJob('tagged', { input: json<number>(), tags: { tenant: 1 } })
    await using stream = fixture.streamOf()
    await stream.prepare(job)
    const pushes: readonly [number, JobPushOptions][] = [
      [0, {}],
      [1, { tags: { tenant: 7, kind: 'usual', urgent: true } }],
      [2, { tags: { tenant: '7', kind: 'usual' } }],
      [3, { tags: { tenant: 7, kind: 'rare', urgent: false } }],
      [4, { tags: {} }],
      [5, { tags: { tenant: 7, kind: 'usual' }, delayMs: 3_600_000 }],
    ]
    await fixture.commit(async (transaction) => {
      await stream.pushMany(transaction, job, pushes)
      // Nobody has pushed this as a job.
      await stream.tasks.push(transaction, 'tagged', { identifier: 'tagged', input: '6', headers: { tags: 'tenant' } })
    })
    const found = async (tags: FindOptions['tags'], others: Partial<FindOptions> = {}): Promise<number[]> =>
      inputs(await find(stream, job, { tags, ...others }))
    expect(await found({ tenant: 7 })).toEqual([1, 3, 5])
    expect(await found({ tenant: '7' })).toEqual([2])
    expect(await found({ tenant: 1 })).toEqual([0])
    expect(await found({ tenant: 7, kind: 'usual' })).toEqual([1, 5])
    expect(await found({ urgent: false })).toEqual([3])
    expect(await found({ nobody: 'has it' })).toEqual([])
    expect(await found({})).toEqual([0, 1, 2, 3, 4, 5, 6])
    expect(await found({ tenant: 7 }, { states: ['delayed'] })).toEqual([5])
    const { jobs, lookedAt, next } = await find(stream, job, { tags: { tenant: 7 }, states: ['ready'] })
    expect([lookedAt, next]).toEqual([6, undefined])
    expect(jobs[0]).toMatchObject({ job: 'tagged', state: 'ready', tags: { tenant: 7, kind: 'usual', urgent: true } })
  })

  test('are looked for as far as it is told, and from there on, in both directions', async () => {
    const job = defineJob('far', { input: json<number>() })
    await using stream = fixture.streamOf()
    await stream.prepare(job)
    // More than two portions.
    const refs = await fixture.commit(async (transaction) =>
      stream.pushMany(
        transaction,
        job,
        Array.from({ length: 450 }, (_, index) => [index, { tags: { odd: index % 2 === 1, tenth: index % 10 } }] as const),
      ),
    )
    const sequences = refs.map(({ sequence }) => sequence)
    const odd = { tags: { odd: true } }
    const all = Array.from({ length: 225 }, (_, index) => 2 * index + 1)

    const whole = await find(stream, job, { ...odd, size: 1_000 })
    expect([inputs(whole), whole.lookedAt, whole.next]).toEqual([all, 450, undefined])
    const first = await find(stream, job, odd)
    expect([inputs(first), first.lookedAt, first.next]).toEqual([all.slice(0, 100), 200, { after: sequences[199] }])
    const one = await find(stream, job, { ...odd, size: 1 })
    expect([inputs(one), one.lookedAt, one.next]).toEqual([[1], 2, { after: sequences[1] }])

    const none = await find(stream, job, { tags: { tenth: 9 }, limit: 9 })
    expect([inputs(none), none.lookedAt, none.next]).toEqual([[], 9, { after: sequences[8] }])
    const exact = await find(stream, job, { tags: { tenth: 'nobody' }, limit: 450 })
    expect([inputs(exact), exact.lookedAt, exact.next]).toEqual([[], 450, { after: sequences[449] }])
    const over = await find(stream, job, { tags: { tenth: 'nobody' }, limit: 451 })
    expect([inputs(over), over.lookedAt, over.next]).toEqual([[], 450, undefined])

    for (const begin of [{}, { before: sequences[449]! + 1 }]) {
      const pieces: number[][] = []
      let options: FindOptions | undefined = { tags: { tenth: 3 }, limit: 130, ...begin }
      while (options) {
        const found: FoundJobs<'far', number> = await find(stream, job, options)
        pieces.push(inputs(found))
        const { after: _after, before: _before, ...same }: FindOptions = options
        options = found.next && { ...same, ...found.next }
      }
      const found = pieces.flat()
      expect(pieces.length).toBe(4)
      expect('before' in begin ? found.toReversed() : found).toEqual(Array.from({ length: 45 }, (_, index) => 10 * index + 3))
    }
  })

  test('are refused a filter that is wrong, by its name', async () => {
    const job = defineJob('wrong-filter', { input: json<number>() })
    await using stream = fixture.streamOf()
    await stream.prepare(job)
    const wrong: readonly [unknown, string, RegExp][] = [
      [undefined, 'tags', /must be an object/],
      [{}, 'tags', /must be an object/],
      [{ tags: null }, 'tags', /must be an object/],
      [{ tags: ['tenant'] }, 'tags', /must be an object/],
      [{ tags: { tenant: undefined } }, 'tags.tenant', /a string, a finite number or a boolean/],
      [{ tags: { tenant: null } }, 'tags.tenant', /a string, a finite number or a boolean/],
      [{ tags: { tenant: Number.NaN } }, 'tags.tenant', /a string, a finite number or a boolean/],
      [{ tags: { tenant: [7] } }, 'tags.tenant', /a string, a finite number or a boolean/],
      [{ tag: { tenant: 7 } }, 'tag', /no option of find: did you mean tags/],
      [{ tags: {}, size: 0 }, 'size', /from 1 to 100000/],
      [{ tags: {}, size: 100_001 }, 'size', /from 1 to 100000/],
      [{ tags: {}, limit: 0 }, 'limit', /from 1 to 100000/],
      [{ tags: {}, limit: 1.5 }, 'limit', /whole number/],
      [{ tags: {}, after: -1 }, 'after', /from 0/],
      [{ tags: {}, after: 1, before: 2 }, 'before', /together with after/],
      [{ tags: {}, states: ['retrying'] }, 'states', /must be one of/],
      [{ tags: {}, from: 2, to: 1 }, 'from', /must not be after to/],
      [{ tags: {}, createdFrom: 5 }, 'createdFrom', /must be a valid Date/],
    ]
    for (const [options, argument, message] of wrong) {
      const attempt = (): Promise<unknown> => find(stream, job, options as FindOptions)
      await expect(attempt()).rejects.toThrow(message)
      await expect(attempt()).rejects.toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument } })
    }
    const list = (): Promise<unknown> =>
      fixture.commit<unknown>((transaction) => stream.list(transaction, job, { tags: { tenant: 7 } } as never))
    await expect(list()).rejects.toThrow(/tags is no option of list: use find/)
    expect(await codeOf(list)).toBe('ARGUMENT_INVALID')
    await expect(
      fixture.commit<unknown>((transaction) => stream.list(transaction, job, { state: ['failed'] } as never)),
    ).rejects.toThrow(/state is no option of list: did you mean states/)
  })
})
