/** Whoever watches jobs is told what becomes of them: by this process at once, and by others at the next look. */
import { TaskError } from '@taskstream/task-api'
import { codeOf, thrownBy } from '@taskstream/task-testing/suite'
import { defineJob, defineQueue, json, many, never, Stream, TaskDecision } from 'taskstream'
import type { JobEvent, JobEvents, TaskListener } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'
import type { TestStream } from './job-fixture.ts'

/** Reads all events, as lines. */
function read(events: JobEvents): { readonly lines: string[]; readonly all: JobEvent[]; readonly over: Promise<void> } {
  const lines: string[] = []
  const all: JobEvent[] = []
  const over = (async () => {
    for await (const event of events) {
      all.push(event)
      lines.push([event.job, event.ref.id, event.state, event.reason].filter(Boolean).join(' '))
    }
  })()
  return { lines, all, over }
}

describe.skipIf(!canRun)('whoever watches jobs', () => {
  const fixture = useJobFixture()

  test('is told what this process does with them, in order, with their tries and errors', async () => {
    const job = defineJob('watched-here', { input: json<string>(), retry: never })
    await using stream = fixture.streamOf()
    let isFirst = true
    stream.handle(job, ({ input, commit }) => {
      if (input === 'fails') throw new Error('it broke')
      if (input === 'filtered') return TaskDecision.filter('not wanted')
      if (input === 'retried' && isFirst) {
        isFirst = false
        return TaskDecision.retry({ afterMs: 0 }, 'again')
      }
      return commit(() => {})
    })
    await stream.start()
    // Nothing else looks at the database in this test.
    const { lines, all } = read(stream.watch({ everyMs: 60_000 }))
    for (const input of ['succeeds', 'fails', 'filtered', 'retried']) {
      await stream.submit(job, input, { id: input })
      await expect
        .poll(() => all.at(-1)?.state)
        .toBe(input === 'fails' ? 'failed' : input === 'filtered' ? 'filtered' : 'succeeded')
    }
    const named = (id: string): string[] => lines.filter((line) => line.includes(` ${id} `)).map((line) => line.split(' ')[2]!)
    expect(named('succeeds')).toEqual(['ready', 'active', 'succeeded'])
    expect(named('fails')).toEqual(['ready', 'active', 'failed'])
    expect(named('filtered')).toEqual(['ready', 'active', 'filtered'])
    expect(named('retried')).toEqual(['ready', 'active', 'retrying', 'active', 'succeeded'])
    const failed = all.find(({ state }) => state === 'failed')
    expect(failed).toMatchObject({ job: job.name, tries: 1, attempt: 1, dropped: 0, at: expect.any(Date) as unknown })
    expect(failed?.error).toMatch(/^Error: it broke\n/)
    expect(all.filter(({ ref }) => ref.id === 'retried').map(({ tries, attempt, error }) => [tries, attempt, error])).toEqual([
      [0, 0, undefined],
      [1, 1, undefined],
      [1, 1, 'again'],
      [2, 2, undefined],
      [2, 2, undefined],
    ])
    // What is told names the job for the verbs.
    const details = await stream.transaction((transaction) => stream.get(transaction, job, failed!.ref as never))
    expect(details).toMatchObject({ id: 'fails', state: 'failed' })
  })

  test('is told of pushes, cancellations, reschedules and retries by hand when they are committed, and of none that is rolled back', async () => {
    const job = defineJob('watched-verbs', { input: json<number>(), key: () => 'one key' })
    const child = defineJob('watched-child', { needs: { all: many(job) } })
    await using stream = fixture.streamOf()
    await stream.prepare(child)
    const { lines } = read(stream.watch({ jobs: [job, child], everyMs: 60_000 }))
    const away = stream.transaction(async (transaction) => {
      await stream.push(transaction, job, 0, { id: 'away' })
      await stream.cancel(transaction, job, { key: 'one key' })
      expect(lines).toEqual([])
      throw new Error('rolled back')
    })
    await expect(away).rejects.toThrow('rolled back')
    await stream.transaction(async (transaction) => {
      const pushed = [
        await stream.push(transaction, job, 1, { id: 'a' }),
        await stream.push(transaction, job, 2, { id: 'b', delayMs: 3_600_000 }),
        await stream.push(transaction, job, 3, { id: 'c', suspended: true }),
      ]
      await stream.push(transaction, job, 4, { id: 'a' })
      await stream.push(transaction, job, 5, { id: 'd', delayMs: 3_600_000 })
      await stream.cancel(transaction, job, 'd')
      await stream.push(transaction, child, undefined, { id: 'e', needs: { all: pushed } })
    })
    const told = ['a ready', 'b delayed', 'c suspended', 'd filtered cancelled'].map((line) => `${job.name} ${line}`)
    told.push(`${child.name} e blocked`)
    await expect.poll(() => lines).toEqual(told)
    await stream.transaction(async (transaction) => stream.reschedule(transaction, job, 'a', { delayMs: 3_600_000 }))
    await expect.poll(() => lines.slice(told.length)).toEqual([`${job.name} a delayed`])
    await stream.transaction((transaction) => stream.cancel(transaction, job, 'a'))
    await stream.transaction((transaction) => stream.retry(transaction, job, 'a'))
    await expect.poll(() => lines.slice(told.length + 1)).toEqual([`${job.name} a filtered cancelled`, `${job.name} a ready`])
  })

  test('is told of what a handler pushes and continues with its commit, and nothing of a commit that is rolled back', async () => {
    const last = defineJob('watched-last', { retry: never })
    const side = defineJob('watched-side', { retry: never })
    const first = defineJob('watched-first', { input: json<boolean>(), next: [last], retry: never })
    await using stream = fixture.streamOf()
    await stream.prepare(last, side)
    stream.handle(first, ({ input, commit, next }) =>
      commit(async (transaction) => {
        await stream.push(transaction, side)
        if (!input) throw new Error('rolled back')
        return next(last)
      }),
    )
    await stream.start()
    const { all } = read(stream.watch({ everyMs: 60_000 }))
    await stream.wait(first, await stream.submit(first, false)).catch(() => {})
    await stream.submit(first, true)
    await expect
      .poll(() => all.filter(({ job }) => job !== first.name).map(({ job, state }) => [job, state]))
      .toEqual([
        [side.name, 'ready'],
        [last.name, 'ready'],
      ])
    expect(all.filter(({ job, state }) => job === first.name && state !== 'ready' && state !== 'active')).toMatchObject([
      { state: 'failed' },
      { state: 'succeeded' },
    ])
  })

  test('sees what other processes do at the next looks, each state once, and those of its own no second time', async () => {
    const job = defineJob('watched-elsewhere', { input: json<string>(), retry: never })
    const mark = defineJob('watched-mark')
    await using watching = fixture.streamOf()
    await using other = fixture.streamOf()
    await other.prepare(job, mark)
    const waiting = await other.submit(job, 'old', { id: 'old', delayMs: 3_600_000 })
    const { lines, all } = read(watching.watch({ jobs: [job, mark], everyMs: 100 }))
    // From the first look on, new jobs of others are seen.
    await expect
      .poll(async () => {
        if (all.length === 0) await other.submit(mark, undefined, { delayMs: 3_600_000 })
        return all.length
      })
      .toBeGreaterThan(0)
    const own = (): string[] => lines.filter((line) => line.startsWith(job.name)).map((line) => line.slice(job.name.length + 1))
    await watching.submit(job, 'mine', { id: 'mine', delayMs: 3_600_000 })
    await other.submit(job, 'theirs', { id: 'theirs', delayMs: 3_600_000 })
    await expect.poll(own).toEqual(['mine delayed', 'theirs delayed'])
    await other.transaction(async (transaction) => {
      await other.cancel(transaction, job, 'mine')
      await other.cancel(transaction, job, waiting)
    })
    await expect.poll(own).toHaveLength(4)
    expect(own().slice(2).toSorted()).toEqual(['mine filtered cancelled', 'old filtered cancelled'])
    other.handle(job, ({ input }) => {
      throw new Error(input)
    })
    await other.start()
    await other.transaction((transaction) => other.reschedule(transaction, job, 'theirs', { delayMs: 0 }))
    await expect.poll(() => own().at(-1)).toBe('theirs failed')
    const failed = all.findLast(({ job: name }) => name === job.name)!
    expect(failed).toMatchObject({ tries: 1, attempt: 1 })
    expect(failed.error).toMatch(/^Error: theirs/)
    const told = all.map(({ ref, state, attempt }) => `${ref.sequence} ${state} ${attempt}`)
    expect(new Set(told).size).toBe(told.length)
  })

  test('is told of the jobs and states that it asked for, also in a queue whose jobs it does not know', async () => {
    const queue = defineQueue('watched-queue')
    const one = defineJob('watched:one', { queue, retry: never })
    const two = defineJob('watched:two', { queue, retry: never })
    const alone = defineJob('watched-alone', { retry: never })
    await using stream = fixture.streamOf()
    stream.handle(alone, () => {})
    stream.route(queue, { 'watched:*': () => {} })
    await stream.start()
    const everyMs = 60_000
    const [ofOne, ofQueue, ended, all] = [
      read(stream.watch({ jobs: [one], everyMs })),
      read(stream.watch({ queues: [queue], everyMs })),
      read(stream.watch({ states: ['succeeded'], everyMs })),
      read(stream.watch({ everyMs })),
    ]
    await stream.transaction(async (transaction) => {
      for (const job of [one, two, alone]) await stream.push(transaction, job)
    })
    await expect.poll(() => ended.all.map(({ job }) => job).toSorted()).toEqual([alone.name, one.name, two.name])
    const names = (seen: readonly JobEvent[]): string[] => [...new Set(seen.map(({ job }) => job))].toSorted()
    expect(names(ofOne.all)).toEqual([one.name])
    expect(names(ofQueue.all)).toEqual([one.name, two.name])
    expect(names(all.all)).toEqual([alone.name, one.name, two.name])
    expect(ended.all.every(({ state }) => state === 'succeeded')).toBe(true)
  })

  test('may be slow, and ends with break, a signal or the stream, which tells first what its last handlers did', async () => {
    const job = defineJob('watched-to-the-end', { input: json<number>(), retry: never })
    const stream = fixture.streamOf()
    const begun = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    stream.handle(job, async () => {
      begun.resolve()
      await go.promise
    })
    await stream.start()
    const controller = new AbortController()
    const [broken, aborted, slow] = [
      stream.watch(),
      read(stream.watch({ signal: controller.signal })),
      stream.watch({ everyMs: 100 }),
    ]
    await stream.submit(job, 0)
    for await (const { state } of broken) {
      expect(state).toBe('ready')
      break
    }
    expect(await broken.next()).toEqual({ done: true, value: undefined })
    await begun.promise
    controller.abort(new Error('enough'))
    await aborted.over
    expect(await stream.watch({ signal: controller.signal }).next()).toMatchObject({ done: true })
    const stopping = stream.stop()
    go.resolve()
    await stopping
    const { lines, over } = read(slow)
    await over
    expect(lines.map((line) => line.split(' ')[2])).toEqual(['ready', 'active', 'succeeded'])
    expect(await codeOf(() => stream.watch())).toBe('LIFECYCLE')
  })

  test('goes on after the database was away for a while, which the listener is told of once', async () => {
    const job = defineJob('watched-through-outage')
    const { transactions } = fixture.subject
    const told: string[] = []
    let isAway = false
    const unsteady = async <Result>(work: (transaction: AnyTransaction) => Result | Promise<Result>): Promise<Result> => {
      if (isAway) throw new TaskError('DATABASE_UNAVAILABLE', 'away')
      return transactions(work)
    }
    await using other = fixture.streamOf()
    await other.prepare(job)
    const listener: TaskListener = {
      onError: ({ activity }) => void told.push(`${activity} fails`),
      onRecovered: ({ activity }) => void told.push(`${activity} works`),
    }
    await using stream: TestStream = new Stream({ repository: fixture.subject.tasks(), transactions: unsteady }, { listener })
    const { all } = read(stream.watch({ jobs: [job], everyMs: 100 }))
    const submit = async (): Promise<number> => {
      await other.submit(job, undefined, { delayMs: 3_600_000 })
      return all.length
    }
    await expect.poll(submit).toBeGreaterThan(0)
    isAway = true
    await expect.poll(() => told).toEqual(['watch fails'])
    const meanwhile = await other.submit(job, undefined, { id: 'meanwhile', delayMs: 3_600_000 })
    isAway = false
    await expect.poll(() => all.at(-1)?.ref.sequence).toBe(meanwhile.sequence)
    expect(told).toEqual(['watch fails', 'watch works'])
  })

  test('is refused what is no job, no queue, no state and no option, by name, at the call', async () => {
    const job = defineJob('watched-wrongly')
    await using stream = fixture.streamOf()
    const ask = async (options: unknown): Promise<unknown> => {
      const error = await thrownBy(() => (stream.watch as (options: unknown) => unknown).call(stream, options))
      return (error as TaskError).data['argument']
    }
    expect(await ask({ jobs: [] })).toBe('jobs')
    expect(await ask({ jobs: job })).toBe('jobs')
    expect(await ask({ jobs: ['watched-wrongly'] })).toBe('job')
    expect(await ask({ queues: [job] })).toBe('queue')
    expect(await ask({ states: [] })).toBe('states')
    expect(await ask({ states: ['done'] })).toBe('states')
    expect(await ask({ signal: {} })).toBe('signal')
    expect(await ask({ everyMs: 99 })).toBe('everyMs')
    expect(await ask({ everyMs: 60_001 })).toBe('everyMs')
    expect(await ask({ every: 100 })).toBe('every')
    expect(await ask(7)).toBe('options')
  })
})
