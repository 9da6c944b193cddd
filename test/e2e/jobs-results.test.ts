/** What jobs return is kept in the transaction that completes them, for whoever waits. */
import { codeOf, thrownBy } from '@taskstream/task-testing/suite'
import { defineJob, json, never, TaskDecision } from 'taskstream'
import type { JobDetails, TaskError } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

describe.skipIf(!canRun)('whoever waits for a job', () => {
  const fixture = useJobFixture()

  test('gets what it returns, as its schema makes it after JSON, whether the handler commits or not', async () => {
    const job = defineJob('returning', {
      input: json<{ way: string }>(),
      output: z.object({ at: z.iso.datetime().transform((text) => new Date(text)), way: z.string().default('none') }),
      retry: never,
    })
    await using stream = fixture.streamOf()
    stream.handle(job, ({ input: { way }, commit }) => {
      const output = { at: '2026-03-01T12:00:00Z', ...(way !== 'default' && { way }) }
      if (way !== 'commit') return output
      return commit(async (transaction) => {
        await fixture.effect(transaction, way)
        return output
      })
    })
    await stream.start()
    for (const way of ['plain', 'commit', 'default', '日 😀 é']) {
      const ref = await stream.submit(job, { way })
      const at = new Date('2026-03-01T12:00:00Z')
      expect(await stream.wait(job, ref)).toEqual({ at, way: way === 'default' ? 'none' : way })
      // It is there for as long as the job is.
      expect(await stream.wait(job, ref.id, { timeoutMs: 60_000 })).toEqual({ at, way: way === 'default' ? 'none' : way })
    }
    expect(await fixture.effects()).toEqual(['commit'])
  })

  test('from another process, by the id of the job, gets it too', async () => {
    const job = defineJob('elsewhere', { output: json<number>(), retry: never })
    await using waiting = fixture.streamOf()
    await waiting.prepare(job)
    await waiting.submit(job, undefined, { id: 'one' })
    const result = waiting.wait(job, 'one')
    await using handling = fixture.streamOf()
    handling.handle(job, ({ commit }) => commit(() => 7))
    await handling.start()
    expect(await result).toBe(7)
  })

  test('waits for the last of those that go on with its work, and gets what that one returns', async () => {
    const last = defineJob('chain-last', { input: json<{ steps: string[] }>(), output: json<string[]>(), retry: never })
    const middle = defineJob('chain-middle', { input: json<{ steps: string[] }>(), next: [last], retry: never })
    const first = defineJob('chain-first', { input: json<number>(), next: [middle], retry: never })
    await using stream = fixture.streamOf()
    stream.handle(last, ({ input: { steps } }) => [...steps, 'last'])
    stream.handle(middle, ({ input: { steps }, commit, next }) => commit(() => next(last, { steps: [...steps, 'middle'] })))
    stream.handle(first, ({ input, next }) => (input > 0 ? next(first, input - 1) : next(middle, { steps: ['first'] })))
    await stream.start()
    const ref = await stream.submit(first, 2)
    expect(await stream.wait(first, ref)).toEqual(['first', 'middle', 'last'])
    const details = await fixture.commit<JobDetails | undefined>((transaction) => stream.get(transaction, first, ref))
    expect(details).toMatchObject({ state: 'succeeded', result: ['first', 'middle', 'last'] })
  })

  test('is told how it ended without success: its state, its reason and its error', async () => {
    const broken = defineJob('broken', { input: json<string>(), output: json<number>(), retry: never, tags: { kind: 'broken' } })
    const leading = defineJob('leading', { next: [broken], retry: never })
    await using stream = fixture.streamOf()
    stream.handle(broken, ({ input }) => {
      if (input === 'filtered') return TaskDecision.filter('not wanted')
      throw new Error(input)
    })
    stream.handle(leading, ({ next }) => next(broken, 'in a chain'))
    await stream.start()
    const ended = async (input: string): Promise<unknown> => {
      const ref = await stream.submit(broken, input)
      return thrownBy(() => stream.wait(broken, ref))
    }
    const failed = (await ended('it broke')) as TaskError
    expect(failed).toMatchObject({ code: 'JOB_ENDED', data: { job: 'broken', state: 'failed', reason: undefined } })
    expect(failed.message).toMatch(/^The job "broken" @\d+ has ended: failed: Error: it broke$/)
    expect(await ended('filtered')).toMatchObject({ code: 'JOB_ENDED', data: { state: 'filtered', output: 'not wanted' } })
    const inChain = (await thrownBy(async () => stream.wait(leading, await stream.submit(leading)))) as TaskError
    expect(inChain).toMatchObject({ code: 'JOB_ENDED', data: { job: 'broken', state: 'failed' } })
    expect(inChain.message).toMatch(
      /^The job "broken" @\d+, as which "leading" @\d+ went on, has ended: failed: Error: in a chain$/,
    )
    await fixture.commit((transaction) => stream.push(transaction, broken, 'late', { id: 'late', delayMs: 3_600_000 }))
    const waiting = thrownBy(() => stream.wait(broken, 'late'))
    await stream.transaction((transaction) => stream.cancel(transaction, broken, 'late'))
    expect(await waiting).toMatchObject({ code: 'JOB_ENDED', data: { id: 'late', state: 'filtered', reason: 'cancelled' } })
  })

  test('waits through retries, and no longer than is said', async () => {
    const job = defineJob('retried', { output: json<number>(), retry: () => ({ afterMs: 1 }) as never })
    const never_ = defineJob('never-ending', {})
    await using stream = fixture.streamOf()
    stream.handle(job, ({ tries }) => {
      if (tries < 3) return TaskDecision.retry({ afterMs: 1 }, 'again')
      return tries
    })
    await stream.prepare(never_)
    await stream.start()
    expect(await stream.wait(job, await stream.submit(job))).toBe(3)
    const ref = await stream.submit(never_)
    expect(await thrownBy(() => stream.wait(never_, ref, { timeoutMs: 0 }))).toMatchObject({
      code: 'WAIT_TIMEOUT',
      data: { job: 'never-ending', id: ref.id, timeoutMs: 0 },
    })
    const controller = new AbortController()
    const waiting = thrownBy(() => stream.wait(never_, ref, { signal: controller.signal }))
    const other = codeOf(() => stream.wait(never_, ref))
    controller.abort(new Error('no patience'))
    expect(await waiting).toEqual(new Error('no patience'))
    expect(await thrownBy(() => stream.wait(never_, ref, { signal: controller.signal }))).toEqual(new Error('no patience'))
    await stream.stop()
    expect(await other).toBe('LIFECYCLE')
    expect(await codeOf(() => stream.wait(never_, ref))).toBe('LIFECYCLE')
  })

  test('may be many, of several jobs: each gets its own', async () => {
    const double = defineJob('double', { input: json<number>(), output: json<number>(), retry: never })
    const name = defineJob('name', { input: json<number>(), output: json<string>(), retry: never })
    await using stream = fixture.streamOf()
    stream.handle(double, ({ input }) => input * 2)
    stream.handle(name, ({ input, commit }) => commit(() => `number ${input}`))
    await stream.start()
    const numbers = Array.from({ length: 60 }, (_, index) => index)
    const results = await Promise.all(
      numbers.map(async (number) =>
        Promise.all([
          stream.submit(double, number).then((ref) => stream.wait(double, ref)),
          stream.submit(name, number).then((ref) => stream.wait(name, ref)),
        ]),
      ),
    )
    expect(results).toEqual(numbers.map((number) => [number * 2, `number ${number}`]))
  })

  test('is refused what is no job, no id and no option, by name', async () => {
    const job = defineJob('asked', { key: () => 'a', input: json<number>() })
    await using stream = fixture.streamOf()
    const ask = (...given: unknown[]): Promise<unknown> =>
      thrownBy(() => (stream.wait as (...all: unknown[]) => unknown).apply(stream, given))
    expect(await ask(job, 'a')).toMatchObject({
      code: 'TOPIC_UNKNOWN',
      message: expect.stringMatching(/stream.prepare/) as unknown,
    })
    await stream.prepare(job)
    expect(await ask(job, 'nobody')).toMatchObject({ code: 'TASK_STATE', data: { job: 'asked', id: 'nobody' } })
    expect(await ask(job, '@987654321')).toMatchObject({ code: 'TASK_STATE' })
    const argument = async (...given: unknown[]): Promise<unknown> => ((await ask(...given)) as TaskError).data?.['argument']
    expect(await argument(undefined, 'a')).toBe('job')
    expect(await argument(job, 7)).toBe('selector')
    expect(await argument(job, { key: 'a' })).toBe('selector')
    expect(await argument(job, 'a', { timeoutMs: -1 })).toBe('timeoutMs')
    expect(await argument(job, 'a', { timeoutMs: 0.5 })).toBe('timeoutMs')
    expect(await argument(job, 'a', { signal: {} })).toBe('signal')
    expect(await argument(job, 'a', { timeout: 7 })).toBe('timeout')
  })
})

describe.skipIf(!canRun)('a handler', () => {
  const fixture = useJobFixture()

  test('that returns what its schema or JSON cannot take fails its try, and nothing of its commit is written', async () => {
    const job = defineJob('misreturning', {
      input: json<{ way: string }>(),
      output: z.object({ count: z.number() }),
      retry: never,
    })
    const cycle: unknown[] = []
    cycle.push(cycle)
    const outputs: Record<string, unknown> = {
      nothing: undefined,
      'something else': { count: 'many' },
      'not a number': { count: Number.NaN },
      bigint: { count: 7n },
      cycle,
      function: () => 7,
      success: TaskDecision.success(),
    }
    await using stream = fixture.streamOf()
    stream.handle(job, ({ input, commit }) => {
      const [way, how] = input.way.split(', ')
      const output = outputs[way!] as { count: number }
      if (how === undefined) return output
      return commit(async (transaction) => {
        await fixture.effect(transaction, input.way)
        return output
      })
    })
    await stream.start()
    for (const way of Object.keys(outputs).flatMap((each) => [each, `${each}, in commit`])) {
      const error = await thrownBy(async () => stream.wait(job, await stream.submit(job, { way })))
      expect([way, (error as TaskError).code]).toEqual([way, 'JOB_ENDED'])
      expect((error as TaskError).message).toMatch(/output/)
    }
    expect(await fixture.effects()).toEqual([])
  })

  test('without an output returns nothing, whatever it returns', async () => {
    const job = defineJob('silent', { retry: never })
    await using stream = fixture.streamOf()
    stream.handle(job, () => ({ secret: 7n }))
    await stream.start()
    const ref = await stream.submit(job)
    expect(await stream.wait(job, ref)).toBeUndefined()
    const details = await fixture.commit<JobDetails | undefined>((transaction) => stream.get(transaction, job, ref))
    expect(details).toMatchObject({ state: 'succeeded', result: undefined })
  })

  test('that goes on is not tried again: whoever tries to is told which job went on', async () => {
    const second = defineJob('went-on', { output: json<number>(), retry: never })
    const first = defineJob('goes-on', { next: [second], retry: never })
    let runs = 0
    await using stream = fixture.streamOf()
    stream.handle(second, () => ++runs)
    stream.handle(first, ({ next }) => next(second))
    await stream.start()
    const ref = await stream.submit(first)
    expect(await stream.wait(first, ref)).toBe(1)
    const [pushed] = await fixture.page(second)
    const error = (await thrownBy(() => stream.transaction((transaction) => stream.retry(transaction, first, ref)))) as TaskError
    expect(error).toMatchObject({ code: 'TASK_STATE', data: { next: { topic: 'went-on', sequence: pushed!.sequence } } })
    await stream.transaction((transaction) => stream.retry(transaction, second, `@${pushed!.sequence}`))
    expect(await stream.wait(first, ref)).toBe(2)
  })
})
