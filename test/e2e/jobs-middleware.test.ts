/** Middleware runs around the handlers of jobs: what the outermost returns counts, and what a handler committed is not lost on its way. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { thrownBy } from '@taskstream/task-testing/suite'
import { defineJob, fixed, json, never, TaskDecision } from 'taskstream'
import type { JobMiddleware, TaskError } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

type Middleware = JobMiddleware<AnyTransaction>

describe.skipIf(!canRun)('the middleware of jobs', () => {
  const fixture = useJobFixture()

  test('runs the first outermost, for all jobs and then for one, also for jobs that were handled before', async () => {
    const plain = defineJob('around-plain')
    const own = defineJob('around-own', { input: json<number>(), key: String })
    const steps: string[] = []
    const noting = (name: string): Middleware => {
      return async ({ name: job, input, key, tries }, next) => {
        steps.push(`${name} ${job} ${String(input)} ${key} ${tries}`)
        try {
          return await next()
        } finally {
          steps.push(`${name} ends`)
        }
      }
    }
    await using stream = fixture.streamOf()
    stream.handle(own, () => void steps.push('handler'), { use: [noting('third'), noting('fourth')] })
    stream.use(noting('first')).use(noting('second'))
    stream.handle(plain, () => void steps.push('handler'))
    await stream.start()
    await stream.wait(own, await stream.submit(own, 7))
    expect(steps.splice(0)).toEqual([
      'first around-own 7 7 1',
      'second around-own 7 7 1',
      'third around-own 7 7 1',
      'fourth around-own 7 7 1',
      'handler',
      'fourth ends',
      'third ends',
      'second ends',
      'first ends',
    ])
    await stream.wait(plain, await stream.submit(plain))
    expect(steps).toEqual([
      'first around-plain undefined undefined 1',
      'second around-plain undefined undefined 1',
      'handler',
      'second ends',
      'first ends',
    ])
  })

  test.each(['leased', 'transactional'] as const)('lets commits, results and continuations through, in mode %s', async (mode) => {
    const last = defineJob(`through-last-${mode}`, { input: json<string>(), output: json<string>() })
    const first = defineJob(`through-first-${mode}`, { input: json<boolean>(), next: [last] })
    await using stream = fixture.streamOf()
    stream.use(async (_, next) => {
      const outcome = await next()
      return outcome
    })
    stream.use((_, next) => next())
    stream.handle(
      first,
      ({ input, commit, next }) =>
        input
          ? commit(async (transaction) => {
              await fixture.effect(transaction, 'committed')
              return next(last, 'commit')
            })
          : next(last, 'next'),
      { mode },
    )
    stream.handle(last, ({ input, commit }) => commit(() => `after ${input}`), { mode })
    await stream.start()
    for (const input of [true, false])
      expect(await stream.wait(first, await stream.submit(first, input))).toBe(input ? 'after commit' : 'after next')
    expect(await fixture.effects()).toEqual(['committed'])
  })

  test('decides in place of the handler: by a decision, by a success where it throws, and by an error', async () => {
    const job = defineJob('decided-around', { input: json<string>(), retry: never })
    const called: string[] = []
    const errors: unknown[] = []
    await using stream = fixture.streamOf({ listener: { onError: ({ error }) => void errors.push((error as Error).message) } })
    stream.use(async ({ input }, next) => {
      if (input === 'not called') return TaskDecision.filter('not wanted')
      if (input === 'refused') throw new Error('refused')
      try {
        const outcome = await next()
        return input === 'replaced' ? TaskDecision.failure('replaced') : outcome
      } catch (error) {
        if (input === 'swallowed') return undefined as never
        throw new Error('from the middleware', { cause: error })
      }
    })
    stream.handle(job, ({ input }) => {
      called.push(input)
      if (input === 'swallowed' || input === 'thrown') throw new Error('from the handler')
      if (input === 'filtered') return TaskDecision.filter()
      return undefined
    })
    await stream.start()
    const states = { 'not called': 'filtered', refused: 'failed', replaced: 'failed', swallowed: 'succeeded', thrown: 'failed' }
    for (const input of [...Object.keys(states), 'filtered']) await stream.submit(job, input, { id: input })
    await expect
      .poll(async () => Object.fromEntries((await fixture.page(job)).map(({ externalId, state }) => [externalId, state])))
      .toEqual({ ...states, filtered: 'filtered' })
    expect(called.toSorted()).toEqual(['filtered', 'replaced', 'swallowed', 'thrown'])
    expect(errors.toSorted()).toEqual(['from the middleware', 'refused'])
  })

  test('that is misused fails the try, and says how', async () => {
    const job = defineJob('misused-around', { input: json<string>(), retry: never })
    const committing = Promise.withResolvers<void>()
    const misuses: Readonly<Record<string, Middleware>> = {
      twice: async (_, next) => {
        await next()
        return next()
      },
      'again after an error': async (_, next) => {
        try {
          return await next()
        } catch {
          return next()
        }
      },
      'not awaited': (_, next) => void next() as never,
      'commit lost': async (_, next) => void (await next()) as never,
      'commit replaced': async (_, next) => {
        await next()
        return TaskDecision.success()
      },
      'commit swallowed': async (_, next) => {
        try {
          return await next()
        } catch {
          return TaskDecision.success()
        }
      },
    }
    await using stream = fixture.streamOf()
    stream.use((held, next) => misuses[held.input as string]!(held, next))
    stream.handle(job, async ({ input, commit }) => {
      if (input === 'not awaited') await committing.promise
      const committed = commit((transaction) => fixture.effect(transaction, input))
      if (input === 'again after an error' || input === 'commit swallowed') throw new Error('from the handler')
      return committed
    })
    await stream.start()
    for (const input of Object.keys(misuses)) await stream.submit(job, input, { id: input })
    await expect.poll(() => fixture.states(job)).toEqual({ failed: Object.keys(misuses).length })
    committing.resolve()
    const notReturned = expect.stringContaining('did not return what it returns: write `return commit(…)`')
    const outputs = (await fixture.page(job)).map(({ externalId, output }) => [externalId, output])
    expect(Object.fromEntries(outputs)).toEqual({
      twice: expect.stringContaining('A middleware of the job "misused-around" called next twice: a try is handled once'),
      'again after an error': expect.stringContaining('called next twice'),
      'not awaited': expect.stringContaining('returned before next had ended: write `return next()`, or await it'),
      'commit lost': notReturned,
      'commit replaced': notReturned,
      'commit swallowed': notReturned,
    })
    expect(await fixture.effects()).toEqual([])
  })

  test('cannot call next once the try has ended', async () => {
    const job = defineJob('late-around', { retry: never })
    const late = Promise.withResolvers<() => Promise<unknown>>()
    let called = 0
    await using stream = fixture.streamOf()
    stream.use((_, next) => {
      late.resolve(next)
      return TaskDecision.success()
    })
    stream.handle(job, () => void called++)
    await stream.start()
    await stream.wait(job, await stream.submit(job))
    const next = await late.promise
    expect(await thrownBy(async () => next())).toMatchObject({
      code: 'LIFECYCLE',
      message: 'A middleware of the job "late-around" called next after the try had ended',
    })
    expect(called).toBe(0)
  })

  test('is within the time of its try, in the context of the handler, and sees each try but no job that does not fit', async () => {
    const context = new AsyncLocalStorage<string>()
    const timed = defineJob('timed-around', { retry: never, timeoutMs: 20 })
    const tried = defineJob('tried-around', { input: json<{ n: number }>(), retry: fixed({ tries: 2, afterMs: 0 }) })
    const seen: unknown[] = []
    await using stream = fixture.streamOf()
    stream.use(async ({ name, tries, signal }, next) => {
      seen.push([name, tries])
      if (name === 'timed-around')
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
      return context.run(`${name} ${tries}`, next)
    })
    stream.handle(timed, () => {})
    stream.handle(tried, ({ input, tries }) => {
      seen.push(context.getStore())
      if (tries < input.n) throw new Error('again')
    })
    await stream.start()
    await fixture.commit((transaction) => stream.tasks.push(transaction, tried.name, [{ identifier: 'a', input: '{' }]))
    const error = await thrownBy(async () => stream.wait(timed, await stream.submit(timed)))
    expect((error as TaskError).message).toContain('took longer than')
    await stream.wait(tried, await stream.submit(tried, { n: 2 }))
    await expect.poll(() => fixture.states(tried)).toEqual({ failed: 1, succeeded: 1 })
    expect(seen).toEqual([['timed-around', 1], ['tried-around', 1], 'tried-around 1', ['tried-around', 2], 'tried-around 2'])
  })

  test('is refused by name if it is no function, or comes after the start', async () => {
    const job = defineJob('refused-around')
    await using stream = fixture.streamOf()
    const refused = { code: 'ARGUMENT_INVALID' }
    expect(await thrownBy(() => stream.use('log' as never))).toMatchObject({ ...refused, data: { argument: 'middleware' } })
    const use = (given: unknown): Promise<unknown> => thrownBy(() => stream.handle(job, () => {}, { use: given as never }))
    for (const given of [() => {}, ['log'], [undefined], null])
      expect(await use(given)).toMatchObject({ data: { argument: 'use' } })
    stream.handle(job, () => {}, { use: [] })
    await stream.start()
    expect(await thrownBy(() => stream.use((_, next) => next()))).toMatchObject({ code: 'LIFECYCLE' })
  })
})
