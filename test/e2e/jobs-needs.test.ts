/** Jobs that need others start when those have succeeded, and get what they have returned. */
import { codeOf, thrownBy } from '@taskstream/task-testing/suite'
import { defineJob, isTaskError, json, many, never, settled, TaskDecision } from 'taskstream'
import type { JobInfo, TaskError } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

const page = defineJob('page', { input: json<{ url: string }>(), output: json<{ words: number }>(), retry: never })
const report = defineJob('report', {
  input: json<string>(),
  needs: { pages: many(page), cover: settled(page) },
  output: json<string>(),
  retry: never,
})

describe.skipIf(!canRun)('a job that needs others', () => {
  const fixture = useJobFixture()
  type Stream = ReturnType<typeof fixture.streamOf>

  /** Handles pages: those whose address says so fail. */
  const handlePages = (stream: Stream): void => {
    stream.handle(page, ({ input: { url } }) => (url === 'fails' ? TaskDecision.failure('no page') : { words: url.length }))
  }
  const handleReports = (stream: Stream): void => {
    stream.handle(report, ({ input, needs: { pages, cover } }) => {
      const words = pages.map((one) => one.words).join('+')
      return `${input}: ${words}, ${cover.ok ? cover.value.words : `${cover.state} ${cover.output}`}`
    })
  }
  const pushed = (stream: Stream, name: string, urls: readonly string[], cover: string): Promise<{ readonly id: string }> =>
    stream.transaction(async (transaction) => {
      const pages = await stream.pushMany(
        transaction,
        page,
        urls.map((url) => [{ url }]),
      )
      return stream.push(transaction, report, name, {
        needs: { pages, cover: await stream.push(transaction, page, { url: cover }) },
      })
    })
  const infoOf = (stream: Stream, id: string): Promise<JobInfo | undefined> =>
    fixture.commit<JobInfo | undefined>((transaction) => stream.get(transaction, report, id))

  test('starts when they have ended, and gets what they returned: in their order, also of one that need not succeed', async () => {
    await using stream = fixture.streamOf()
    handlePages(stream)
    handleReports(stream)
    await stream.start()
    const refs = await Promise.all([
      pushed(stream, 'all', ['a', 'bbb', 'cc'], 'dddd'),
      pushed(stream, 'none', [], 'dddd'),
      pushed(stream, 'without its cover', ['a'], 'fails'),
    ])
    expect(await Promise.all(refs.map(({ id }) => stream.wait(report, id)))).toEqual([
      'all: 1+3+2, 4',
      'none: , 4',
      'without its cover: 1, failed no page',
    ])
  })

  test('starts though the others are handled by another process', async () => {
    await using pages = fixture.streamOf()
    handlePages(pages)
    await using reports = fixture.streamOf()
    handleReports(reports)
    await reports.start()
    const { id } = await pushed(reports, 'elsewhere', ['a'], 'bb')
    expect(await infoOf(reports, id)).toMatchObject({ state: 'blocked', due: undefined })
    await pages.start()
    expect(await reports.wait(report, id)).toBe('elsewhere: 1, 2')
  })

  test('fails as unreachable if one of them fails, and so does what needs it; once that one succeeds, a retry of it waits again', async () => {
    let isBroken = true
    const first = defineJob('first', { output: json<number>(), retry: never })
    const second = defineJob('second', { needs: { first }, output: json<number>(), retry: never })
    const third = defineJob('third', { needs: { second }, output: json<number>(), retry: never })
    const told: unknown[] = []
    await using stream = fixture.streamOf({
      listener: {
        onError: ({ topic, error }) => void (isTaskError(error, 'TASK_UNREACHABLE') && told.push([topic, error.data['count']])),
      },
    })
    stream.handle(first, () => {
      if (isBroken) throw new Error('broken')
      return 1
    })
    stream.handle(second, ({ needs }) => needs.first + 1)
    stream.handle(third, ({ needs }) => needs.second + 1)
    await stream.start()
    const refs = await stream.transaction(async (transaction) => {
      const one = await stream.push(transaction, first)
      const two = await stream.push(transaction, second, undefined, { needs: { first: one } })
      return { one, two, three: await stream.push(transaction, third, undefined, { needs: { second: two } }) }
    })
    const error = (await thrownBy(() => stream.wait(third, refs.three))) as TaskError
    expect(error.data).toMatchObject({ state: 'failed', reason: 'unreachable' })
    expect(error.message).toMatch(/needs as "second", task \d+ of topic "second", has failed/)
    await expect
      .poll(() => told)
      .toEqual([
        ['second', 1],
        ['third', 1],
      ])
    isBroken = false
    await stream.transaction(async (transaction) => {
      await stream.retry(transaction, first, refs.one)
      await stream.retry(transaction, second, refs.two)
      await stream.retry(transaction, third, refs.three)
    })
    expect(await stream.wait(third, refs.three)).toBe(3)
  })

  test('waits for the last of those that go on with the work of one', async () => {
    const last = defineJob('needed-last', { input: json<number>(), output: json<number>(), retry: never })
    const start = defineJob('needed-first', { input: json<number>(), next: [last], retry: never })
    const sum = defineJob('sum', { needs: { starts: many(start) }, output: json<number>(), retry: never })
    await using stream = fixture.streamOf()
    stream.handle(start, ({ input, next }) => next(last, input * 10))
    stream.handle(last, ({ input }) => input + 1)
    stream.handle(sum, ({ needs: { starts } }) => starts.reduce<number>((all, one) => all + (one ?? 0), 0))
    await stream.start()
    const ref = await stream.transaction(async (transaction) => {
      const starts = await stream.pushMany(transaction, start, [[1], [2]])
      return stream.push(transaction, sum, undefined, { needs: { starts } })
    })
    expect(await stream.wait(sum, ref)).toBe(32)
  })

  test('may be what another goes on with: a graph that is found while it runs', async () => {
    const crawl = defineJob('crawl', { input: json<string[]>(), next: [report], retry: never })
    await using stream = fixture.streamOf()
    handlePages(stream)
    handleReports(stream)
    stream.handle(crawl, ({ input, commit, next }) =>
      commit(async (transaction) => {
        const pages = await stream.pushMany(
          transaction,
          page,
          input.map((url) => [{ url }]),
        )
        return next(report, 'crawled', { needs: { pages, cover: await stream.push(transaction, page, { url: 'x' }) } })
      }),
    )
    await stream.start()
    expect(await stream.wait(crawl, await stream.submit(crawl, ['a', 'bb']))).toBe('crawled: 1+2, 1')
  })

  test('is submitted, cancelled while it is blocked, and found by an id that was there before', async () => {
    await using stream = fixture.streamOf()
    handleReports(stream)
    await stream.prepare(report)
    const cover = await stream.submit(page, { url: 'a' })
    const given = { id: 'one', needs: { pages: [], cover } }
    const ref = await stream.submit(report, 'first', given)
    expect((await stream.submit(report, 'second', given)).sequence).toBe(ref.sequence)
    expect(await infoOf(stream, 'one')).toMatchObject({ state: 'blocked', input: 'first' })
    await stream.transaction((transaction) => stream.cancel(transaction, report, 'one'))
    expect(await infoOf(stream, 'one')).toMatchObject({ state: 'filtered', reason: 'cancelled' })
    expect(await codeOf(() => stream.wait(report, 'one'))).toBe('JOB_ENDED')
  })

  test('is not pushed if its transaction is rolled back', async () => {
    await using stream = fixture.streamOf()
    await stream.prepare(report)
    const cover = await stream.submit(page, { url: 'a' })
    await stream
      .transaction(async (transaction) => {
        await stream.push(transaction, report, 'gone', { needs: { pages: [], cover } })
        throw new Error('rolled back')
      })
      .catch(() => {})
    const left = await fixture.commit<readonly JobInfo[]>((transaction) => stream.list(transaction, report))
    expect(left.filter(({ input }) => input === 'gone')).toEqual([])
  })

  test('is refused with needs that are not those of its definition', async () => {
    await using stream = fixture.streamOf()
    await stream.prepare(report)
    const cover = await stream.submit(page, { url: 'a' })
    const ref = await stream.submit(report, 'x', { needs: { pages: [], cover } })
    const why = async (options: object): Promise<string> =>
      String(await thrownBy(() => stream.submit(report, 'x', options as never)))
    expect(await why({})).toMatch(/needs of the job "report" must be given: pages, cover/)
    expect(await why({ needs: { pages: cover, cover } })).toMatch(/needs.pages must be a list of jobs/)
    expect(await why({ needs: { pages: [ref], cover } })).toMatch(/needs.pages must be what a push of the job "page" returned/)
    expect(await why({ needs: { pages: [], cover, more: cover } })).toMatch(/more is no field of the needs of "report"/)
    expect(await why({ needs: { pages: [], cover }, delayMs: 5 })).toMatch(
      /delayMs must not be given: the job "report" starts when/,
    )
    expect(() => stream.handle(report, () => '', { mode: 'transactional' })).toThrow(
      /mode must not be given: the job "report" needs others/,
    )
    expect(String(await thrownBy(() => stream.submit(page, { url: 'a' }, { needs: { cover } } as object)))).toMatch(
      /is defined without needs/,
    )
  })

  test('is not pushed with a reference that names no task, not even where the error is caught', async () => {
    await using stream = fixture.streamOf()
    await stream.prepare(report)
    const known = await fixture.page(report)
    const cover = { job: 'page', id: 'a', topic: 'page', sequence: 'x' } as never
    const push = (transaction: never): unknown => stream.push(transaction, report, 'x', { needs: { pages: [], cover } })
    expect(await fixture.commit((transaction) => codeOf(async () => await push(transaction as never)))).toBe('ARGUMENT_INVALID')
    expect(await fixture.page(report)).toEqual(known)
  })
})
