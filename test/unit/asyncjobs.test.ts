/** The words of asyncjobs without a database server: tasks, their JSON and states, and what a client is refused for. */
import type { TaskInfo } from '@taskstream/task-api'
import { codeOf, thrownBy } from '@taskstream/task-testing/suite'
import { asyncJobs, newTask, TaskRouter, taskStateOf, taskStates } from 'taskstream/asyncjobs'
import type { Task } from 'taskstream/asyncjobs'
import { testStream } from 'taskstream/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { handlerOf } from '../../packages/taskstream/src/asyncjobs/handle-task.ts'
import { ksuid } from '../../packages/taskstream/src/asyncjobs/ksuid.ts'
import { stateOf } from '../../packages/taskstream/src/asyncjobs/states.ts'
import { checkedQueue, definitionsOf } from '../../packages/taskstream/src/asyncjobs/work-queue.ts'

afterEach(() => vi.restoreAllMocks())

const argument = (name: string): object => ({ code: 'ARGUMENT_INVALID', data: { argument: name } })

describe('a new task', () => {
  test('has a KSUID, ten tries and the JSON of its payload, and is new', () => {
    const task = newTask('email:new', { to: 'ann' })
    expect(task).toMatchObject({
      type: 'email:new',
      queue: '',
      maxTries: 10,
      state: 'new',
      tries: 0,
      lastErr: '',
      deadline: undefined,
    })
    expect(task.id).toMatch(/^[0-9A-Za-z]{27}$/)
    expect(Math.abs(Date.now() - task.createdAt.getTime())).toBeLessThan(10_000)
    expect(task.json()).toEqual({ to: 'ann' })
    expect(JSON.parse(JSON.stringify(task))).toEqual({
      id: task.id,
      type: 'email:new',
      queue: '',
      payload: 'eyJ0byI6ImFubiJ9',
      max_tries: 10,
      state: 'new',
      created: task.createdAt.toISOString(),
      tries: 0,
    })
  })

  test('has an id that is written as KSUIDs are, and of which a later second has a greater one', () => {
    const vector = '0ujtsYcgvSTl8PAuAdqWYSMnLOv'
    expect(ksuid((1_400_000_000 + 107_608_047) * 1_000, Buffer.from('B5A1CD34B5F99D1154FB6853345C9735', 'hex'))).toBe(vector)
    expect(ksuid(1_400_000_000_000, Buffer.alloc(16))).toBe('0'.repeat(27))
    const [least, greatest] = [Buffer.alloc(16), Buffer.alloc(16, 255)]
    expect(ksuid(1_800_000_000_999, greatest) < ksuid(1_800_000_001_000, least)).toBe(true)
  })

  test('is blocked if it depends on others, each once and in their order', () => {
    const other = newTask('other')
    const task = newTask('a', null, { dependsOnIds: ['b', other.id, 'b'], dependsOn: [other, newTask('c', null, { id: 'c' })] })
    expect(task).toMatchObject({ state: 'blocked', dependencies: ['b', other.id, 'c'], loadDependencies: false })
    expect([task.hasDependencies(), other.hasDependencies()]).toEqual([true, false])
    const wire = newTask('a', null, { dependsOnIds: ['b'], requiresDependencyResults: true }).toJSON()
    expect(wire).toMatchObject({ dependencies: ['b'], load_dependencies: true, state: 'blocked', payload: null })
  })

  test('encodes its payload by an encoder of its own, but not one that is not there', () => {
    const encode = vi.fn((payload: unknown) => `<${String(payload)}>`)
    expect(Buffer.from(newTask('a', 7, { payloadEncoder: encode }).payload!).toString()).toBe('<7>')
    for (const none of [null, undefined]) expect(newTask('a', none, { payloadEncoder: encode }).payload).toBeUndefined()
    expect(encode).toHaveBeenCalledTimes(1)
    const bytes = Uint8Array.of(0, 255)
    expect(newTask('a', 7, { payloadEncoder: () => bytes }).payload).toEqual(bytes)
    const broken = (): never => {
      throw new RangeError('too much')
    }
    expect(() => newTask('a', 7, { payloadEncoder: broken })).toThrow(RangeError)
  })

  test.each([
    ['type', 'task type is invalid', () => newTask('')],
    ['type', 'task type is invalid', () => newTask('a b')],
    ['id', 'task ID is invalid', () => newTask('a', 1, { id: '@7' })],
    ['id', 'task ID is invalid', () => newTask('a', 1, { id: '' })],
    ['dependsOnIds', 'task ID is invalid', () => newTask('a', 1, { dependsOnIds: ['a/b'] })],
    ['dependsOnIds', 'list', () => newTask('a', 1, { dependsOnIds: 'abc' as never })],
    ['dependsOnIds', 'itself', () => newTask('a', 1, { id: 'x', dependsOnIds: ['b', 'x'] })],
    ['dependsOn', 'list', () => newTask('a', 1, { dependsOn: newTask('b') as never })],
    ['dependsOn', 'list', () => newTask('a', 1, { dependsOn: [undefined as never] })],
    ['dependsOn', 'dependsOnIds', () => newTask('a', 1, { dependsOn: ['b' as never] })],
    ['deadline', 'Date', () => newTask('a', 1, { deadline: 7 as never })],
    ['maxTries', 'from 0 to 32767', () => newTask('a', 1, { maxTries: -1 })],
    ['requiresDependencyResults', 'true or false', () => newTask('a', 1, { requiresDependencyResults: 1 as never })],
    ['payloadEncoder', 'function', () => newTask('a', 1, { payloadEncoder: 1 as never })],
    ['payloadEncoder', 'bytes', () => newTask('a', 1, { payloadEncoder: () => 1 as never })],
    ['maxTry', 'maxTries', () => newTask('a', 1, { maxTry: 1 } as never)],
  ])('is refused for its %s: %s', async (name, text, make) => {
    expect(await thrownBy(make)).toMatchObject({ ...argument(name), message: expect.stringContaining(text) })
  })

  test('is past its deadline once that is over', () => {
    const now = Date.now()
    vi.spyOn(Date, 'now').mockReturnValue(now)
    const at = (ms: number): boolean => newTask('a', null, { deadline: new Date(now + ms) }).isPastDeadline()
    expect([at(-1), at(0), at(1), newTask('a').isPastDeadline()]).toEqual([true, false, false, false])
  })

  test('is marked as in progress by its handler alone', async () => {
    expect(await codeOf(() => newTask('a').markInProgress())).toBe('LIFECYCLE')
  })
})

test('states have their names on the wire, and completed stands for complete', () => {
  expect(taskStates.map(taskStateOf)).toEqual(taskStates)
  expect([taskStateOf('completed'), taskStateOf('done')]).toEqual(['complete', undefined])
  expect(taskStates.join()).toBe(',new,active,retry,expired,terminated,complete,queue_error,blocked,unreachable')
})

test.each([
  ['new', 'is ready', { state: 'ready' }],
  ['new', 'waits for its time', { state: 'suspended', due: new Date() }],
  ['new', 'was put off', { state: 'suspended', due: new Date(), attempt: 1, started: new Date() }],
  ['active', 'is being handled', { state: 'active', tries: 1 }],
  ['active', 'was left by a process that died', { state: 'expired', tries: 1, reason: 'lease' }],
  ['retry', 'waits for its next try', { state: 'suspended', due: new Date(), tries: 1, attempt: 1, started: new Date() }],
  ['retry', 'is ready for its next try', { state: 'ready', tries: 1, attempt: 1, started: new Date() }],
  ['retry', 'was retried by hand', { state: 'ready', attempt: 1 }],
  ['blocked', 'waits for others', { state: 'suspended', due: new Date(), blocked: true }],
  ['blocked', 'was set aside', { state: 'suspended' }],
  ['complete', 'has succeeded', { state: 'succeeded', tries: 1 }],
  ['complete', 'was discarded', { state: 'filtered' }],
  ['expired', 'has had its tries', { state: 'failed', reason: 'tries' }],
  ['expired', 'is too late', { state: 'filtered', reason: 'deadline' }],
  ['unreachable', 'needs what has failed', { state: 'failed', reason: 'unreachable' }],
  ['terminated', 'was terminated', { state: 'failed', reason: 'terminated' }],
  ['terminated', 'took too long', { state: 'failed', reason: 'timeout' }],
  ['terminated', 'has failed', { state: 'failed' }],
  ['queue_error', 'was dropped', { state: 'filtered', reason: 'dropped' }],
  ['terminated', 'was cancelled', { state: 'filtered', reason: 'cancelled' }],
] as const)('a task is %s whose job %s', (state, _, row) => {
  expect(stateOf({ tries: 0, attempt: 0, ...row } as unknown as TaskInfo)).toBe(state)
})

describe('a client', () => {
  test.each([
    ['queue', { queue: { nam: 'A' } }, 'nam'],
    ['queue', { queue: '' }, 'name'],
    ['queue', { queue: 'A-B' }, 'name'],
    ['queue', { queue: { maxAgeMs: -1 } }, 'maxAgeMs'],
    ['queue', { queue: { maxTries: -2 } }, 'maxTries'],
    ['queue', { queue: { maxRunMs: 0 } }, 'maxRunMs'],
    ['queue', { queue: { noCreate: 1 } }, 'noCreate'],
    ['queue', { queue: { discardOld: 1 } }, 'discardOld'],
    ['queue', { queue: { maxEntries: -1 } }, 'maxEntries'],
    ['queue', { queue: { maxConcurrent: 0.5 } }, 'maxConcurrent'],
    ['queue', { queue: { signed: true } }, 'signed'],
    ['concurrency', { concurrency: 0 }, 'concurrency'],
    ['retention', { taskRetentionMs: -1 }, 'taskRetentionMs'],
    ['policy', { retryPolicy: 'never' }, 'retryPolicy'],
    ['policy', { retryPolicy: {} }, 'retryPolicy'],
  ])('is refused for its %s', async (_, options, name) => {
    await using stream = await testStream()
    expect(await thrownBy(() => asyncJobs(stream, options as never))).toMatchObject(argument(name))
  })

  test('asks for a task that was made or loaded', async () => {
    await using stream = await testStream()
    const copy = { ...newTask('a') } as never
    expect(await thrownBy(() => asyncJobs(stream).enqueueTask(copy))).toMatchObject({
      ...argument('task'),
      message: expect.stringContaining('newTask'),
    })
  })

  test('asks for a router', async () => {
    await using stream = await testStream()
    expect(await thrownBy(() => asyncJobs(stream).handle({} as never))).toMatchObject(argument('router'))
  })

  test('handles ten tasks at a time, unless it is told otherwise', async () => {
    await using stream = await testStream()
    const route = vi.spyOn(stream, 'route')
    for (const options of [{}, { queue: 'OTHER', concurrency: 3 }]) asyncJobs(stream, options).handle(new TaskRouter())
    expect(route.mock.calls.map(([, , options]) => options)).toEqual([{ concurrency: 10 }, { concurrency: 3 }])
  })

  test('has the queue DEFAULT, whose tasks have a hundred tries and a minute for each, and those of others any number and an hour', () => {
    const others = { maxAgeMs: 0, maxEntries: 0, discardOld: false, maxConcurrent: 0, noCreate: false }
    expect(checkedQueue()).toEqual({ name: 'DEFAULT', maxTries: 100, maxRunMs: 60_000, ...others })
    expect(checkedQueue('EMAIL')).toEqual({ name: 'EMAIL', maxTries: -1, maxRunMs: 3_600_000, ...others })
    const { queue, task, dependent } = definitionsOf(checkedQueue())
    expect(queue.settings.topic.order).toBe('priority')
    expect([task, dependent].map(({ settings }) => settings.timeoutMs)).toEqual([60_000, 60_000])
  })

  test('lets a handler mark its task as in progress any number of times, until it has ended', async () => {
    let held: Task | undefined
    const router = new TaskRouter().handleFunc('', (task) => {
      held = task
      task.markInProgress()
      task.markInProgress()
    })
    const extend = vi.fn()
    const input = { type: 'a', created: '2027-01-01T00:00:00Z', max_tries: 1 }
    const job = { id: 'a', input, tries: 1, deadline: undefined, signal: AbortSignal.timeout(1), commit: vi.fn(), extend }
    expect(await handlerOf('DEFAULT', router)(job, undefined)).toMatchObject({ payload: null })
    expect(extend).toHaveBeenCalledTimes(2)
    expect(await codeOf(() => held!.markInProgress())).toBe('LIFECYCLE')
    expect(extend).toHaveBeenCalledTimes(2)
  })

  test('takes no other task for a dependency that is not there', async () => {
    await using stream = await testStream()
    const client = asyncJobs(stream)
    client.handle(client.newTaskRouter().handleFunc('', () => 'done'))
    await client.enqueueTask(newTask('first'))
    const orphan = await client.enqueueTask(newTask('orphan', null, { dependsOnIds: ['nobody'] }))
    await stream.drain()
    expect((await client.loadTaskById(orphan.id)).state).toBe('unreachable')
  })

  test('does not end a task whose deadline comes while it is handled', async () => {
    await using stream = await testStream()
    const client = asyncJobs(stream)
    client.handle(client.newTaskRouter().handleFunc('', () => void stream.clock.advance(2_000)))
    const [first, second] = [1, 2].map(() => newTask('a', null, { deadline: new Date(stream.clock.now().getTime() + 1_000) }))
    await client.enqueueTask(first!)
    await client.enqueueTask(second!)
    await stream.drain()
    const states = [first, second].map(async (task) => (await client.loadTaskById(task!.id)).state)
    expect(await Promise.all(states)).toEqual(['complete', 'expired'])
  })
})
