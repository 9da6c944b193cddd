/** Functions as tasks, in the words of TaskLib: how they are submitted, worked off and looked at. */
import { codeOf, thrownBy } from '@taskstream/task-testing/suite'
import { TaskExecutionError, TaskLibError, TaskNotFound, TaskWorker } from 'taskstream/tasklib'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'
import { ended, get, libOf, working } from './tasklib-fixture.ts'
import type { Lib } from './tasklib-fixture.ts'

describe.skipIf(!canRun)('a task of TaskLib', () => {
  const fixture = useJobFixture()

  test('cannot be submitted, looked at or listed before init', async () => {
    await using stream = fixture.streamOf()
    const lib = libOf(stream)
    const send = lib.task(function send() {})
    const calls = [() => lib.submitTask(send), () => lib.getTask('x'), () => lib.listTasks()]
    for (const call of calls) {
      const error = await thrownBy(call)
      expect(error).toBeInstanceOf(TaskLibError)
      expect(error).toMatchObject({ code: 'LIFECYCLE', message: expect.stringContaining('not initialized') })
    }
    await lib.init()
    await lib.init()
    const id = await lib.submitTask(send)
    expect(await lib.listTasks()).toEqual([await lib.getTask(id)])
    expect(await lib.getTask('none')).toBeUndefined()
  })

  test('is submitted pending, with its arguments and the defaults of their schema, and is found by its id', async () => {
    await using stream = fixture.streamOf()
    const lib = libOf(stream)
    const kwargs = z.object({ to: z.string(), subject: z.string().default('Hello') })
    const send = lib.task({ kwargs }, function send() {})
    await lib.init()
    const id = await lib.submitTask(send, { tags: { tenant: 7 } }, { to: 'ann' })
    const task = await get(lib, id)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(task).toEqual({
      id,
      name: 'send',
      state: 'pending',
      createdAt: expect.any(Date),
      scheduledAt: task.createdAt,
      startedAt: undefined,
      completedAt: undefined,
      kwargs: { to: 'ann', subject: 'Hello' },
      result: undefined,
      error: undefined,
      retryCount: 0,
      maxRetries: 3,
      nextRetryAt: undefined,
      workerId: undefined,
      timeoutSeconds: undefined,
      priority: 0,
      tags: { tenant: 7 },
      isPending: true,
      isRunning: false,
      isCompleted: false,
      isFailed: false,
      hasResult: false,
      hasError: false,
      isTerminal: false,
    })
  })

  test('has the options of its submission, or else of its registration, or else of all tasks', async () => {
    await using stream = fixture.streamOf()
    const lib = libOf(stream, { maxRetries: 2, defaultTaskTimeoutSeconds: 60 })
    const plain = lib.task(function plain() {})
    const own = lib.task({ maxRetries: 5, timeoutSeconds: 30 }, function own() {})
    await lib.init()
    const triesOf = async (id: string): Promise<unknown> => {
      const { maxRetries, timeoutSeconds, priority } = await get(lib, id)
      return [maxRetries, timeoutSeconds, priority]
    }
    expect(await triesOf(await lib.submitTask(plain))).toEqual([2, 60, 0])
    expect(await triesOf(await lib.submitTask(own))).toEqual([5, 30, 0])
    expect(await triesOf(await lib.submitTask(own, { maxRetries: 0, timeoutSeconds: 0.5, priority: -3 }))).toEqual([0, 0.5, -3])
  })

  test('is refused if its function is not registered or its arguments do not fit, and nothing is written', async () => {
    await using stream = fixture.streamOf()
    const lib = libOf(stream)
    const send = lib.task({ kwargs: z.object({ to: z.string() }) }, function send() {})
    const dated = lib.task({ kwargs: z.object({ at: z.string().transform(Number) }) }, function dated() {})
    await lib.init()
    expect(await thrownBy(() => lib.submitTask(() => {}, {}, {}))).toBeInstanceOf(TaskNotFound)
    const wrong = [() => lib.submitTask(send, {}, {} as never), () => lib.submitTask(send, {}, { to: 7 } as never)]
    for (const submit of wrong) expect(await thrownBy(submit)).toBeInstanceOf(TaskExecutionError)
    // What the schema makes of the arguments is stored, and would not pass it again.
    expect(await thrownBy(() => lib.submitTask(dated, {}, { at: '7' }))).toBeInstanceOf(TaskExecutionError)
    expect(await codeOf(() => lib.submitTask(send, { priorty: 1 } as never, { to: 'a' }))).toBe('ARGUMENT_INVALID')
    expect(await codeOf(() => lib.submitTask(send, { maxRetries: -1 }, { to: 'a' }))).toBe('ARGUMENT_INVALID')
    expect(await lib.listTasks()).toEqual([])
  })

  test('is worked off by priority, then in the order of submissions, each once by two workers, and a delayed one waits', async () => {
    await using stream = fixture.streamOf()
    await using other = fixture.streamOf()
    const queue = `tasklib-order`
    const order: string[] = []
    const libs = [stream, other].map((each) => libOf(each, { queue }))
    const notes = libs.map((lib) => lib.task({ name: 'note' }, ({ what }: { what: string }) => void order.push(what)))
    const [lib, second] = libs as [Lib, Lib]
    const note = notes[0]!
    await lib.init()
    const late = await lib.submitTask(note, { delaySeconds: 3_600, priority: 9 }, { what: 'delayed' })
    for (const [what, priority] of [
      ['a', 0],
      ['b', 0],
      ['c', 5],
      ['d', -5],
    ] as const)
      await lib.submitTask(note, { priority }, { what })
    await working(lib, () => expect.poll(() => order).toEqual(['c', 'a', 'b', 'd']) as Promise<void>)
    const task = await get(lib, late)
    expect(task).toMatchObject({ state: 'pending' })
    expect(task.scheduledAt!.getTime() - task.createdAt.getTime()).toBe(3_600_000)
    await second.init()
    for (let index = 0; index < 6; index++) await second.submitTask(notes[1]!, {}, { what: `${index}` })
    await using third = fixture.streamOf()
    const last = libOf(third, { queue })
    last.task({ name: 'note' }, ({ what }: { what: string }) => void order.push(what))
    await working(second, () => working(last, () => expect.poll(() => order.length).toBe(10) as Promise<void>))
    expect(order.slice(4).toSorted()).toEqual(['0', '1', '2', '3', '4', '5'])
  })

  test('is listed by its state, its name and its tags, in the order of submissions, a hundred unless more are asked for', async () => {
    await using stream = fixture.streamOf()
    const lib = libOf(stream)
    const a = lib.task(function a() {})
    const b = lib.task({ maxRetries: 0 }, function b() {
      throw new Error('no')
    })
    await lib.init()
    const ids = [
      await lib.submitTask(a, { tags: { tenant: 7 } }),
      await lib.submitTask(b, { tags: { tenant: 7, kind: 'x' } }),
      await lib.submitTask(a, { tags: { tenant: '7' }, delaySeconds: 3_600 }),
    ]
    await working(lib, async () => void (await Promise.all(ids.slice(0, 2).map((id) => ended(lib, id)))))
    const listed = async (options?: Parameters<Lib['listTasks']>[0]): Promise<number[]> =>
      (await lib.listTasks(options)).map(({ id }) => ids.indexOf(id))
    expect(await listed()).toEqual([0, 1, 2])
    expect(await listed({ limit: 2 })).toEqual([0, 1])
    expect(await listed({ state: 'completed' })).toEqual([0])
    expect(await listed({ state: 'failed' })).toEqual([1])
    expect(await listed({ state: 'pending' })).toEqual([2])
    expect(await listed({ state: 'running' })).toEqual([])
    expect(await listed({ name: 'a' })).toEqual([0, 2])
    expect(await listed({ tags: { tenant: 7 } })).toEqual([0, 1])
    expect(await listed({ tags: { tenant: 7 }, state: 'failed', name: 'b' })).toEqual([1])
    expect(await codeOf(() => lib.listTasks({ state: 'done' as never }))).toBe('ARGUMENT_INVALID')
    const { name } = lib.queue
    const creations = Array.from({ length: 100 }, () => ({ identifier: 'a', headers: { job: 'a' } }))
    await stream.transaction(async (transaction) => void (await stream.tasks.push(transaction, name, creations)))
    expect(await lib.listTasks()).toHaveLength(100)
    expect(await lib.listTasks({ limit: 1_000 })).toHaveLength(103)
  })

  test('is left as it is by a worker that is shut down while it starts, which ends without an error', async () => {
    await using stream = fixture.streamOf()
    const lib = libOf(stream)
    const rest = lib.task(function rest() {})
    await lib.init()
    const id = await lib.submitTask(rest)
    const worker = new TaskWorker(lib)
    const running = worker.run()
    await Promise.all([worker.shutdown(), running])
    expect(await get(lib, id)).toMatchObject({ state: 'pending', retryCount: 0 })
    expect(await codeOf(() => new TaskWorker(lib).run())).toBe('LIFECYCLE')
  })

  test('that is running is waited for when its worker shuts down, and no other is begun', async () => {
    await using stream = fixture.streamOf()
    const lib = libOf(stream)
    const begun: string[] = []
    const gate = Promise.withResolvers<void>()
    const wait = lib.task(async function wait({ what }: { what: string }) {
      begun.push(what)
      await gate.promise
    })
    await lib.init()
    for (const what of ['a', 'b', 'c']) await lib.submitTask(wait, {}, { what })
    const worker = new TaskWorker(lib, { concurrency: 2, pollIntervalSeconds: 0.01 })
    let isOver = false
    const running = worker.run().then(() => (isOver = true))
    await expect.poll(() => begun).toEqual(['a', 'b'])
    const stopping = worker.shutdown()
    gate.resolve()
    expect((await stopping).finished).toHaveLength(2)
    await running
    expect([begun, isOver]).toEqual([['a', 'b'], true])
    expect((await lib.listTasks()).map(({ state }) => state)).toEqual(['completed', 'completed', 'pending'])
  })
})
