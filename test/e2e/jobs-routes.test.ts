/** The jobs of a queue find their handlers by name: an exact route first, then the longest prefix. None is passed over silently. */
import { thrownBy } from '@taskstream/task-testing/suite'
import { defineJob, defineQueue, fixed, json, never, TaskDecision } from 'taskstream'
import type { JobMiddleware, TaskError } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

describe.skipIf(!canRun)('a route of a queue', () => {
  const fixture = useJobFixture()

  test('is that of the name, or else of the longest prefix that ends in *', async () => {
    const queue = defineQueue('routed', { retry: never })
    const handled = defineJob('email:handled', { queue, input: json<number>() })
    const routes = ['email:render', 'email:*', 'email:re*', 'email*', '*']
    const names = ['email:render', 'email:rendered', 'email:re', 'email:new', 'email:', 'emails', 'email', 'sms', 'Email:new']
    await using pushing = fixture.streamOf()
    for (const name of names) {
      const job = defineJob(name, { queue })
      await pushing.prepare(job)
      await pushing.submit(job)
    }
    await pushing.submit(handled, 1)
    const found: [name: string, route: string][] = []
    await using stream = fixture.streamOf()
    stream.route(queue, Object.fromEntries(routes.map((route) => [route, ({ name }) => void found.push([name, route])])))
    stream.handle(handled, ({ name, input }) => void found.push([name, `handle ${input}`]))
    await stream.start()
    await expect.poll(() => fixture.states(queue)).toEqual({ succeeded: names.length + 1 })
    expect(Object.fromEntries(found)).toEqual({
      'email:handled': 'handle 1',
      'email:render': 'email:render',
      'email:rendered': 'email:re*',
      'email:re': 'email:re*',
      'email:new': 'email:*',
      'email:': 'email:*',
      emails: 'email*',
      email: 'email*',
      sms: '*',
      'Email:new': '*',
    })
  })

  test('is given the job with its JSON, and can do what handlers can', async () => {
    const queue = defineQueue('routed-given', { keyed: true, retry: never })
    const after = defineJob('given:after', { input: json<string>() })
    const job = defineJob('given:job', { queue, input: json<{ way: string }>(), key: ({ way }) => way, maxTries: 5 })
    const bare = defineJob('given:bare', { queue, key: () => 'bare' })
    const given: unknown[] = []
    await using stream = fixture.streamOf()
    await stream.prepare(after)
    stream.route(queue, {
      '*': ({ name, key, input, tries, maxTries, tags, commit, next }) => {
        given.push({ name, key, input, tries, maxTries, tags })
        const { way } = (input ?? {}) as { way?: string }
        if (way === 'commit') return commit((transaction) => fixture.effect(transaction, 'committed'))
        if (way === 'next') return next(after, 'gone on')
        if (way === 'dropped') return void commit(() => {})
        if (way === 'decided') return TaskDecision.filter()
        return { any: 'thing' }
      },
    })
    await stream.start()
    const states: Record<string, string> = {}
    for (const way of ['commit', 'next', 'dropped', 'decided']) {
      const ref = await stream.submit(job, { way }, { tags: { way } })
      states[way] = ''
      await expect
        .poll(async () => (await fixture.page(queue)).find(({ sequence }) => sequence === ref.sequence)?.completed)
        .toBeTruthy()
    }
    await stream.wait(bare, await stream.submit(bare))
    // It is no JSON, and will be none at the next try.
    await fixture.commit((transaction) =>
      stream.tasks.push(transaction, queue.name, [{ identifier: 'broken', input: '{', headers: { job: 'given:job' } }]),
    )
    await expect.poll(async () => (await fixture.states(queue))['failed']).toBe(2)
    const ends = (await fixture.page(queue)).map(({ identifier, state, reason }) => [identifier, state, reason])
    expect(Object.fromEntries(ends.map(([identifier, ...end]) => [identifier, end]))).toEqual({
      commit: ['succeeded', undefined],
      next: ['succeeded', undefined],
      dropped: ['failed', undefined],
      decided: ['filtered', undefined],
      bare: ['succeeded', undefined],
      broken: ['failed', 'terminated'],
    })
    expect(given).toEqual([
      ...Object.keys(states).map((way) => ({
        name: 'given:job',
        key: way,
        input: { way },
        tries: 1,
        maxTries: 5,
        tags: { way },
      })),
      { name: 'given:bare', key: 'bare', input: undefined, tries: 1, maxTries: undefined, tags: {} },
    ])
    expect(await fixture.effects()).toEqual(['committed'])
    expect((await fixture.page(after)).map(({ input }) => input)).toEqual(['"gone on"'])
  })

  test('that is missing fails the try, and says which there are; a process that has the route handles the job later', async () => {
    const queue = defineQueue('routed-missing', { retry: fixed({ tries: 2, afterMs: 0 }) })
    const job = defineJob('missing:job', { queue })
    const own = defineJob('missing:own', { queue, retry: never })
    const errors: TaskError[] = []
    {
      await using old = fixture.streamOf({ listener: { onError: ({ error }) => void errors.push(error as TaskError) } })
      old.handle(own, () => {})
      old.route(queue, { 'other:*': () => {}, another: () => {} })
      await old.start()
      await old.submit(job, undefined, { id: 'missing' })
      await fixture.commit((transaction) =>
        old.tasks.push(transaction, queue.name, [
          { identifier: 'no name' },
          { identifier: 'a list', headers: { job: ['missing:own'] } },
          { identifier: 'too long', headers: { job: `other:${'x'.repeat(250)}` } },
        ]),
      )
      await expect.poll(() => fixture.states(queue)).toEqual({ failed: 4 })
      const error = (await thrownBy(() => old.wait(job, 'missing'))) as TaskError
      expect(error.message).toContain(
        'has ended: failed, tries: TaskError: No route of this process handles the job "missing:job"',
      )
    }
    expect((await fixture.page(queue)).map(({ tries }) => tries)).toEqual([2, 2, 2, 2])
    expect(errors).toHaveLength(8)
    for (const error of errors) expect(error.code).toBe('ROUTE_MISSING')
    const [named, unnamed] = [errors.filter(({ data }) => data['job']), errors.filter(({ data }) => !data['job'])]
    expect([named.length, unnamed.length]).toEqual([2, 6])
    expect(named[0]).toMatchObject({
      message:
        'No route of this process handles the job "missing:job" in the queue "routed-missing": there is "another", "missing:own", "other:*". Handle the job, or add a route such as "*"',
      data: { queue: 'routed-missing', job: 'missing:job', routes: ['another', 'missing:own', 'other:*'] },
    })
    expect(unnamed[0]!.message).toContain('handles a task without a name in its header "job"')
    await using later = fixture.streamOf()
    later.route(queue, { 'missing:*': () => {} })
    await later.start()
    await later.transaction((transaction) => later.retry(transaction, job, 'missing'))
    await later.wait(job, 'missing')
  })

  test('has the middleware of the stream around that of its queue, and its own innermost', async () => {
    const queue = defineQueue('routed-around')
    const handled = defineJob('around:handled', { queue })
    const routed = defineJob('around:routed', { queue })
    const steps: string[] = []
    const noting = (what: string): JobMiddleware<AnyTransaction> => {
      return ({ name }, next) => {
        steps.push(`${what} ${name}`)
        return next()
      }
    }
    await using stream = fixture.streamOf()
    stream.handle(handled, () => {}, { use: [noting('own')] })
    stream.route(queue, { '*': () => {} }, { use: [noting('queue')] })
    stream.use(noting('stream'))
    await stream.start()
    await stream.wait(handled, await stream.submit(handled))
    await stream.wait(routed, await stream.submit(routed))
    expect(steps).toEqual([
      'stream around:handled',
      'queue around:handled',
      'own around:handled',
      'stream around:routed',
      'queue around:routed',
    ])
  })

  test('is given once, and before the start', async () => {
    const queue = defineQueue('routed-twice')
    const job = defineJob('twice:job', { queue })
    const lifecycle = async (what: string, call: () => unknown): Promise<void> => {
      const error = (await thrownBy(call)) as TaskError
      expect([error.code, error.message]).toEqual(['LIFECYCLE', expect.stringContaining(what)])
    }
    await using stream = fixture.streamOf()
    stream.handle(job, () => {})
    await lifecycle('The job "twice:job" is handled already', () => stream.handle(job, () => {}))
    await lifecycle('The queue "routed-twice" has a route "twice:job" already', () =>
      stream.route(queue, { 'twice:*': () => {}, 'twice:job': () => {} }),
    )
    stream.route(queue, { exact: () => {}, 'twice:*': () => {} })
    await lifecycle('The queue "routed-twice" has a route "exact" already', () =>
      stream.handle(defineJob('exact', { queue }), () => {}),
    )
    await lifecycle('is routed already: give all its routes in one call', () => stream.route(queue, {}))
    await stream.start()
    await lifecycle('The queue "routed-other" must be routed before the stream starts', () =>
      stream.route(defineQueue('routed-other'), {}),
    )
    const late = (): unknown => stream.handle(defineJob('late:job', { queue }), () => {})
    await lifecycle('must be handled before the stream starts', late)
    await stream.stop()
    const stopped = 'before the stream starts. This one was stopped, and does not start again: make a new one'
    await lifecycle(stopped, late)
    await lifecycle(stopped, () => stream.route(defineQueue('routed-other'), {}))
  })
})
