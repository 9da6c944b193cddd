/** Which handler a task of asyncjobs is given to, with which middleware, and after which pauses again. */
import { codeOf, thrownBy } from '@taskstream/task-testing/suite'
import { chain, newTask, retryPolicyLookup, retryPolicyNames, TaskRouter } from 'taskstream/asyncjobs'
import type { TaskContext, TaskHandler, TaskMiddleware } from 'taskstream/asyncjobs'
import { afterEach, describe, expect, test, vi } from 'vitest'

afterEach(() => vi.restoreAllMocks())

const context = {} as TaskContext<unknown>
const argument = (name: string): object => ({ code: 'ARGUMENT_INVALID', data: { argument: name } })

describe('a router', () => {
  const says =
    (text: string): TaskHandler<unknown> =>
    () =>
      text
  const route = (router: TaskRouter, type: string): unknown => router.handler({ type, id: 'x' })(newTask('a'), context)

  test('finds the handler of a type, or else of its longest beginning, or else that of every type', () => {
    const router = new TaskRouter()
    for (const type of ['email', 'email:new', 'em', '']) router.handleFunc(type, says(type || 'any'))
    const found = ['email:new', 'email:newer', 'email:old', 'email', 'embed', 'sms'].map((type) => route(router, type))
    expect(found).toEqual(['email:new', 'email:new', 'email', 'email', 'em', 'any'])
  })

  test('refuses a second handler of a type, and has none for a type that nobody handles', async () => {
    const router = new TaskRouter().handleFunc('email', says('email'))
    const again = await thrownBy(() => router.handleFunc('email', says('again')))
    expect(again).toMatchObject({ code: 'LIFECYCLE', message: 'duplicate handler for task type: "email"' })
    const missing = await thrownBy(() => route(router, 'sms'))
    expect(missing).toMatchObject({ code: 'ROUTE_MISSING', message: 'no handler for task type: "sms"' })
  })

  test('puts its middleware around all handlers, the first outermost, then that of a handler, and none around a missing one', async () => {
    const seen: string[] = []
    const around =
      (name: string): TaskMiddleware<unknown> =>
      (next) =>
      async (task, given) => {
        seen.push(name)
        return `${name}(${String(await next(task, given))})`
      }
    const router = new TaskRouter()
      .handleFunc('a', says('a'), around('c'), chain(around('d'), around('e')))
      .use(around('1'), around('2'))
    router.use(around('3'))
    expect(await route(router, 'a')).toBe('1(2(3(c(d(e(a))))))')
    expect(seen).toEqual(['1', '2', '3', 'c', 'd', 'e'])
    await thrownBy(() => route(router, 'b'))
    expect(seen).toHaveLength(6)
  })

  test.each([
    ['use', (router: TaskRouter) => router.use(null as never)],
    ['handleFunc', (router: TaskRouter) => router.handleFunc('a', says('a'), undefined as never)],
    ['chain', () => chain(null as never)],
  ])('refuses what is no middleware: %s', async (_, refused) => {
    expect(await thrownBy(() => refused(new TaskRouter()))).toMatchObject({
      ...argument('middleware'),
      message: expect.stringContaining('invalid middleware'),
    })
  })

  test.each([
    ['type', (router: TaskRouter) => router.handleFunc(7 as never, says('a'))],
    ['handler', (router: TaskRouter) => router.handleFunc('a', 'a' as never)],
    ['command', (router: TaskRouter) => router.externalProcess('a', '')],
    ['outputBytes', (router: TaskRouter) => router.externalProcess('a', 'b', { outputBytes: 0 })],
    ['killAfterMs', (router: TaskRouter) => router.externalProcess('a', 'b', { killAfterMs: -1 })],
  ])('refuses a wrong %s', async (name, refused) => {
    expect(await thrownBy(() => refused(new TaskRouter()))).toMatchObject(argument(name))
  })
})

describe('retry policies', () => {
  test('are found by their names, in alphabetical order', async () => {
    expect(retryPolicyNames()).toEqual(['10m', '1h', '1m', 'default'])
    expect(await thrownBy(() => retryPolicyLookup('2m'))).toMatchObject({
      ...argument('retryPolicy'),
      message: 'unknown retry policy: 2m (there is 10m, 1h, 1m, default)',
    })
    expect(await codeOf(() => retryPolicyLookup('toString'))).toBe('ARGUMENT_INVALID')
  })

  test.each([
    ['default', 60, 600, 50, 0.9],
    ['10m', 60, 600, 50, 0.9],
    ['1h', 600, 3_600, 20, 0.9],
    ['1m', 1, 60, 20, 0.5],
  ])('have pauses of their formula, and none before the first or after the last: %s', (name, min, max, steps, jitter) => {
    const random = vi.spyOn(Math, 'random')
    const { duration } = retryPolicyLookup(name)
    for (const tries of [-5, 0, 1, 2, steps, steps + 1, steps + 7, 1_000_000]) {
      // requirements 03, §17: interval[i] = min + i * (max - min) / steps, and a pause of d is d * jitter + [0, d).
      const d = (min + (Math.min(Math.max(tries, 1) - 1, steps) * (max - min)) / steps) * 1_000
      random.mockReturnValue(1)
      expect(duration(tries)).toBe(Math.round(d * jitter))
      random.mockReturnValue(0)
      expect(duration(tries)).toBe(Math.round(d * (1 + jitter)))
    }
  })
})
