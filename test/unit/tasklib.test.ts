/** What `taskLib` does before anything is written: registrations, options, pauses between retries, ids. */
import type { DatabaseSync } from 'node:sqlite'
import { TaskError } from '@taskstream/task-api'
import { codeOf, thrownBy } from '@taskstream/task-testing/suite'
import { isTaskError } from 'taskstream'
import { taskLib, TaskAlreadyRegistered, TaskLibError, TaskNotFound, TaskWorker } from 'taskstream/tasklib'
import type { TaskLib, TaskLibOptions } from 'taskstream/tasklib'
import { testStream } from 'taskstream/testing'
import { expect, test, vi } from 'vitest'
import { reasonOf } from '../../packages/taskstream/src/tasklib/errors.ts'
import { uuidV7 } from '../../packages/task-jobs/src/signatures/uuid-v7.ts'

type Lib = TaskLib<DatabaseSync, 'sync'>

const libOf = async (options?: TaskLibOptions): Promise<Lib> => taskLib(await testStream(), options)

test('a function is registered by its name, once, and is returned as it is', async () => {
  const lib = await libOf()
  const send = function send(): void {}
  expect(lib.task(send)).toBe(send)
  const twice = await thrownBy(async () => lib.task(function send() {}))
  expect(twice).toBeInstanceOf(TaskAlreadyRegistered)
  expect(twice).toBeInstanceOf(TaskLibError)
  expect(twice).toMatchObject({ name: 'TaskAlreadyRegistered', code: 'LIFECYCLE', data: { job: 'send' } })
  expect(await thrownBy(async () => lib.task({ name: 'other' }, send))).toBeInstanceOf(TaskAlreadyRegistered)
  const later = lib.task({ name: 'later', maxRetries: 1, timeoutSeconds: 30 }, () => {})
  const registered = lib.getRegisteredTasks()
  expect([...registered]).toEqual([
    ['send', { fn: send, options: {} }],
    ['later', { fn: later, options: { name: 'later', maxRetries: 1, timeoutSeconds: 30 } }],
  ])
  registered.clear()
  expect(lib.getRegisteredTasks().size).toBe(2)
  expect(lib.jobOf(send).name).toBe('send')
  const unknown = await thrownBy(async () => lib.jobOf(function other() {}))
  expect(unknown).toBeInstanceOf(TaskNotFound)
  expect(unknown).toMatchObject({ code: 'ROUTE_MISSING', data: { queue: 'tasklib', job: 'other', routes: ['send', 'later'] } })
})

test('what cannot be registered is refused by name', async () => {
  const lib = await libOf()
  const refused = [
    () => lib.task((() => () => {})()),
    () => lib.task({ maxRetries: -1 }, function a() {}),
    () => lib.task({ maxRetries: 1.5 }, function b() {}),
    () => lib.task({ timeoutSeconds: 0 }, function c() {}),
    () => lib.task({ timeoutSeconds: 86_401 }, function d() {}),
    () => lib.task({ timeout: 3 } as object, function e() {}),
    () => lib.task({ kwargs: {} } as object, function f() {}),
    () => lib.task({}, undefined as never),
  ]
  for (const register of refused) expect(await codeOf(async () => register())).toBe('ARGUMENT_INVALID')
  expect(lib.getRegisteredTasks().size).toBe(0)
})

test('the pauses before the retries double from five seconds, or go by the options, without any chance in them', async () => {
  const pausesOf = (lib: Lib, ...tries: number[]): unknown[] =>
    tries.map((count) => lib.queue.settings.retry!({ tries: count, maxTries: 32_767 } as never, new Error('no')))
  expect(pausesOf(await libOf(), 1, 2, 3, 4)).toEqual([5_000, 10_000, 20_000, 40_000])
  expect(pausesOf(await libOf({ baseRetryDelaySeconds: 0.5, retryBackoffMultiplier: 3 }), 1, 2, 3)).toEqual([500, 1_500, 4_500])
  expect(pausesOf(await libOf({ baseRetryDelaySeconds: 0 }), 1, 2)).toEqual([0, 0])
  // Another job of the queue has the tries of all tasks, if it has none of its own.
  const { retry } = (await libOf({ maxRetries: 2 })).queue.settings
  expect([2, 3].map((tries) => retry!({ tries } as never, new Error('no')))).toEqual([10_000, undefined])
})

test('options of all tasks, and of workers, are refused by name', async () => {
  const wrong = [
    { maxRetries: -1 },
    { maxRetries: 32_767 },
    { baseRetryDelaySeconds: -1 },
    { baseRetryDelaySeconds: '5' },
    { retryBackoffMultiplier: 0.5 },
    { defaultTaskTimeoutSeconds: 0 },
    { queue: '' },
    { lockTimeoutSeconds: 600 },
  ]
  for (const options of wrong) expect(await codeOf(() => libOf(options as TaskLibOptions))).toBe('ARGUMENT_INVALID')
  expect((await libOf({ maxRetries: 32_766, queue: 'q', defaultTaskTimeoutSeconds: 86_400 })).queue.name).toBe('q')
  const lib = await libOf()
  const workers = [{ concurrency: 0 }, { pollIntervalSeconds: 0 }, { pollIntervalSeconds: 86_401 }, { pollInterval: 1 }]
  for (const options of workers) expect(await codeOf(async () => new TaskWorker(lib, options))).toBe('ARGUMENT_INVALID')
  const worker = new TaskWorker(lib)
  expect(await codeOf(() => worker.run({ stopon: [] } as never))).toBe('ARGUMENT_INVALID')
  expect(await codeOf(() => worker.shutdown({ graceMs: -1 }))).toBe('ARGUMENT_INVALID')
})

test('a worker works on one task at a time and looks for others each second, unless it is told otherwise', async () => {
  const loops: unknown[] = []
  for (const options of [{}, { concurrency: 4, pollIntervalSeconds: 0.5 }]) {
    const lib = await libOf()
    vi.spyOn(lib, 'handleAll').mockImplementation((...loop) => void loops.push(loop))
    const worker = new TaskWorker(lib, options)
    const running = worker.run()
    await worker.shutdown()
    await running
  }
  expect(loops).toEqual([
    [1, 1_000],
    [4, 500],
  ])
})

test('a worker that shuts down gives running tasks a day, or as long as is said', async () => {
  const lib = await libOf()
  const stop = vi.spyOn(lib.stream, 'stop')
  const worker = new TaskWorker(lib)
  await worker.shutdown()
  await worker.shutdown({ graceMs: 5 })
  expect(stop.mock.calls).toEqual([[{ graceMs: 86_400_000 }], [{ graceMs: 5 }]])
})

test('the reason of a signal has the name that TaskLib gives it, and a stop stays what it is', () => {
  const named = (code: 'TASK_TIMEOUT' | 'TASK_LOST' | 'LEASE_LOST' | 'SHUTDOWN'): unknown => {
    const reason = reasonOf(new TaskError(code, 'over', { timeoutMs: 7 }))
    return [(reason as Error).name, isTaskError(reason, code) && reason.data['timeoutMs']]
  }
  expect(named('TASK_TIMEOUT')).toEqual(['TaskTimeoutError', 7])
  expect(named('TASK_LOST')).toEqual(['TaskLockError', 7])
  expect(named('LEASE_LOST')).toEqual(['TaskLockError', 7])
  expect(named('SHUTDOWN')).toEqual(['TaskError', 7])
})

test('ids are UUIDs of version 7: they sort by their time, and no two are alike', () => {
  const ids = [1, 1_000, 1_645_557_742_000, 2 ** 48 - 1].map((timeMs) => uuidV7(new Date(timeMs)))
  expect(ids.toSorted()).toEqual(ids)
  expect(ids[2]).toMatch(/^017f22e2-79b0-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(new Set(Array.from({ length: 1_000 }, () => uuidV7(new Date(1)))).size).toBe(1_000)
})
