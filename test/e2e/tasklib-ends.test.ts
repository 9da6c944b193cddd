/** Functions as tasks, in the words of TaskLib: how they end, whatever becomes of them. */
import { defineJob, isTaskError } from 'taskstream'
import type { TaskContext } from 'taskstream/tasklib'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'
import { ended, get, libOf, working } from './tasklib-fixture.ts'

describe.skipIf(!canRun)('a task of TaskLib', () => {
  const fixture = useJobFixture()

  test('completes with what its function returns as its value, and with null if that is nothing', async () => {
    await using stream = fixture.streamOf()
    const lib = libOf(stream)
    const add = lib.task({ name: 'add' }, ({ a, b }: { a: number; b: number }) => Promise.resolve(a + b))
    const nothing = lib.task(function nothing() {})
    await lib.init()
    const ids = [await lib.submitTask(add, {}, { a: 1, b: 2 }), await lib.submitTask(nothing)]
    await working(lib, async () => void (await ended(lib, ids[1]!)))
    expect(await get(lib, ids[0]!)).toMatchObject({
      state: 'completed',
      result: { value: 3 },
      completedAt: expect.any(Date),
      startedAt: expect.any(Date),
      scheduledAt: undefined,
      workerId: undefined,
      retryCount: 0,
      isCompleted: true,
      hasResult: true,
      isTerminal: true,
    })
    expect(await get(lib, ids[1]!)).toMatchObject({ state: 'completed', result: { value: null }, hasResult: true })
  })

  test('has failed if JSON cannot express what its function returns', async () => {
    await using stream = fixture.streamOf()
    const lib = libOf(stream, { maxRetries: 0 })
    const returns = [() => () => {}, () => 1n, () => Symbol('no')].map((fn, index) => lib.task({ name: `returns ${index}` }, fn))
    await lib.init()
    for (const fn of returns) await lib.submitTask(fn)
    await working(lib, async () => void (await Promise.all((await lib.listTasks()).map(({ id }) => ended(lib, id)))))
    for (const task of await lib.listTasks())
      expect(task).toMatchObject({ state: 'failed', result: undefined, error: expect.stringContaining('must be JSON') })
  })

  test('is tried maxRetries times again, and has then failed, with the class, message and stack of its error', async () => {
    await using stream = fixture.streamOf()
    const lib = libOf(stream)
    const tried: number[] = []
    const fail = lib.task(function fail(_: { n: number }, { retryCount }: TaskContext) {
      tried.push(retryCount)
      throw new RangeError('no such thing')
    })
    await lib.init()
    const id = await lib.submitTask(fail, {}, { n: 1 })
    const once = await lib.submitTask(fail, { maxRetries: 0 }, { n: 2 })
    await working(lib, async () => void (await Promise.all([ended(lib, id), ended(lib, once)])))
    expect(tried.toSorted()).toEqual([0, 0, 1, 2, 3])
    const task = await get(lib, id)
    expect(task).toMatchObject({
      state: 'failed',
      retryCount: 3,
      hasError: true,
      hasResult: false,
      isFailed: true,
      isTerminal: true,
    })
    expect(task).toMatchObject({ nextRetryAt: undefined, workerId: undefined, completedAt: expect.any(Date) })
    expect(task.error).toMatch(/^RangeError: no such thing\n +at fail/)
    expect(await get(lib, once)).toMatchObject({ state: 'failed', retryCount: 0, maxRetries: 0, isTerminal: true })
  })

  test('has failed while it waits for its retry, is not tried before that, and loses its error once it has completed', async () => {
    await using stream = fixture.streamOf()
    const lib = libOf(stream, { baseRetryDelaySeconds: 3_600 })
    let tries = 0
    const recover = lib.task(function recover() {
      if (++tries === 1) throw new Error('not yet')
    })
    await lib.init()
    const id = await lib.submitTask(recover)
    await working(lib, async () => {
      await expect.poll(async () => (await get(lib, id)).state).toBe('failed')
      const task = await get(lib, id)
      expect(task).toMatchObject({
        retryCount: 1,
        hasError: true,
        isTerminal: false,
        completedAt: undefined,
        workerId: undefined,
      })
      expect(task.nextRetryAt!.getTime() - task.startedAt!.getTime()).toBeGreaterThanOrEqual(3_600_000)
      expect(await lib.listTasks({ state: 'pending' })).toEqual([])
      expect(await lib.listTasks({ state: 'failed' })).toMatchObject([{ id }])
      await stream.transaction((transaction) => stream.retry(transaction, lib.jobOf(recover), id))
      expect(await ended(lib, id)).toMatchObject({ state: 'completed', hasError: false, error: undefined })
    })
    expect(tries).toBe(2)
  })

  test('fails with a timeout, which its function learns of by its signal, and what it returns then is ignored', async () => {
    await using stream = fixture.streamOf()
    const lib = libOf(stream)
    const reasons: unknown[] = []
    const slow = lib.task({ maxRetries: 0 }, async function slow(_: object, { signal }: TaskContext) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      reasons.push([(signal.reason as Error).name, isTaskError(signal.reason, 'TASK_TIMEOUT')])
      return 'late'
    })
    await lib.init()
    const id = await lib.submitTask(slow, { timeoutSeconds: 0.01 }, {})
    await working(lib, async () => void (await ended(lib, id)))
    const task = await get(lib, id)
    expect(task).toMatchObject({ state: 'failed', hasResult: false, isTerminal: true, timeoutSeconds: 0.01 })
    expect(task.error).toMatch(/^TaskError: .*timeout/)
    expect(reasons).toEqual([['TaskTimeoutError', true]])
  })

  test('is run again from the start by another worker when its worker has died, and counts that as a retry', async () => {
    await using stream = fixture.streamOf()
    const lib = libOf(stream)
    const begun: number[] = []
    const work = lib.task(function work(_: object, { retryCount }: TaskContext) {
      begun.push(retryCount)
    })
    await lib.init()
    const ids = [await lib.submitTask(work, {}, {}), await lib.submitTask(work, { maxRetries: 0 }, {})] as const
    const dead = fixture.subject.tasks()
    await fixture.commit(async (transaction) => {
      await dead.register(transaction)
      await dead.poll(transaction, lib.queue.name, { size: 2 })
    })
    expect(await get(lib, ids[0])).toMatchObject({ state: 'running', isRunning: true, workerId: dead.owner, isTerminal: false })
    await fixture.commit(async (transaction) => void (await dead.unregister(transaction)))
    await working(lib, async () => void (await Promise.all(ids.map((id) => ended(lib, id)))))
    expect(begun).toEqual([1])
    expect(await get(lib, ids[0])).toMatchObject({ state: 'completed', retryCount: 1 })
    const error = 'The worker that had the task has died, and no retries are left'
    expect(await get(lib, ids[1])).toMatchObject({ state: 'failed', retryCount: 0, error })
  })

  test('whose row is corrupt, or is no longer as its schema says, has failed at once and is reported, and others go on', async () => {
    const reported: unknown[] = []
    await using stream = fixture.streamOf({ listener: { onError: ({ error }) => void reported.push((error as Error).message) } })
    const lib = libOf(stream)
    const begun: string[] = []
    const send = lib.task({ kwargs: z.object({ to: z.string() }) }, function send({ to }) {
      begun.push(to)
    })
    await lib.init()
    await stream.transaction(async (transaction) => {
      const creations = ['no JSON', '{"to":7}'].map((input) => ({
        identifier: 'send',
        input,
        headers: { job: 'send' },
        maxTries: 4,
      }))
      await stream.tasks.push(transaction, lib.queue.name, creations)
    })
    const id = await lib.submitTask(send, {}, { to: 'ann' })
    await working(lib, async () => void (await ended(lib, id)))
    expect(begun).toEqual(['ann'])
    const failed = await lib.listTasks({ state: 'failed' })
    expect(failed).toMatchObject([
      { retryCount: 0, isTerminal: true, kwargs: undefined, error: expect.stringContaining('is no JSON') },
      { retryCount: 0, isTerminal: true, kwargs: { to: 7 }, error: expect.stringContaining('to: ') },
    ])
    expect(reported).toHaveLength(2)
  })

  test('goes the way of a failure where its worker does not know its function', async () => {
    await using submitting = fixture.streamOf()
    const lib = libOf(submitting)
    const rare = lib.task(function rare() {})
    await lib.init()
    const id = await lib.submitTask(rare, { maxRetries: 1 })
    await using stream = fixture.streamOf()
    const other = libOf(stream, { queue: lib.queue.name })
    await working(other, async () => void (await ended(lib, id)))
    expect(await get(lib, id)).toMatchObject({ state: 'failed', retryCount: 1, isTerminal: true })
    expect((await get(lib, id)).error).toMatch(/^TaskNotFound: There is no task "rare"/)
  })

  test('has a state of TaskLib in whatever way its job ends: cancelled, past its deadline, or behind an arm that fails', async () => {
    await using stream = fixture.streamOf()
    const lib = libOf(stream)
    const work = lib.task(function work({ fails }: { fails: boolean }) {
      if (fails) throw new Error('this arm fails')
    })
    const job = lib.jobOf(work)
    const arm = defineJob('arm', { queue: lib.queue, needs: { top: job } })
    const arms = defineJob('arms', { queue: lib.queue, needs: { left: job, right: arm } })
    const end = defineJob('end', { queue: lib.queue, needs: { arms } })
    for (const each of [arm, arms, end]) stream.handle(each as typeof arm, () => {})
    await stream.prepare(arms, end)
    await lib.init()
    const refs = await stream.transaction(async (transaction) => {
      const top = await stream.push(transaction, job, { fails: false })
      const left = await stream.push(transaction, job, { fails: true }, { maxTries: 1 })
      const right = await stream.push(transaction, arm, undefined, { needs: { top } })
      const both = await stream.push(transaction, arms, undefined, { needs: { left, right } })
      return {
        top,
        left,
        both,
        end: await stream.push(transaction, end, undefined, { needs: { arms: both } }),
        cancelled: await stream.push(transaction, job, { fails: false }),
        late: await stream.push(transaction, job, { fails: false }, { deadlineMs: 0 }),
      }
    })
    await stream.transaction(async (transaction) => void (await stream.cancel(transaction, job, refs.cancelled)))
    expect(await get(lib, refs.end.id)).toMatchObject({ state: 'pending', isTerminal: false })
    await working(lib, async () => void (await Promise.all(Object.values(refs).map(({ id }) => ended(lib, id)))))
    const states = Object.entries(refs).map(async ([name, { id }]) => {
      const { state, error } = await get(lib, id)
      return [name, state, error?.split('\n')[0]]
    })
    expect(await Promise.all(states)).toEqual([
      ['top', 'completed', undefined],
      ['left', 'failed', 'Error: this arm fails'],
      ['both', 'failed', expect.stringContaining('has failed')],
      ['end', 'failed', expect.stringContaining('has failed')],
      ['cancelled', 'failed', 'cancelled'],
      ['late', 'failed', 'deadline'],
    ])
  })
})
