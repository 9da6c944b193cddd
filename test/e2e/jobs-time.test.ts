/** A try has a time, which its handler may extend, and which ends whatever the handler does. */
import type { TaskError } from '@taskstream/task-api'
import { codeOf } from '@taskstream/task-testing/suite'
import { defineJob, defineTopic, fixed, json, never } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'
import { watchedClock } from './watched-clock.ts'

describe.skipIf(!canRun)('the time of a try', () => {
  const fixture = useJobFixture()

  test('is up after timeoutMs: the signal is aborted, and the job is tried again', async () => {
    const job = defineJob('slow', { timeoutMs: 1, retry: fixed({ tries: 2, afterMs: 0 }) })
    const reasons: string[] = []
    await using stream = fixture.streamOf()
    stream.handle(job, async ({ signal, tries }) => {
      if (tries === 2) return
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      reasons.push((signal.reason as TaskError).code)
      throw new Error('an aborted call throws its own error')
    })
    await stream.start()
    await stream.submit(job)
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: 1 })
    expect(reasons).toEqual(['TASK_TIMEOUT'])
  })

  test('is that of the push, or else of the definition', async () => {
    const job = defineJob('timed-push', { timeoutMs: 3_600_000, retry: never })
    const reasons: unknown[] = []
    await using stream = fixture.streamOf()
    stream.handle(job, async ({ id, signal }) => {
      if (id !== 'short') return
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      reasons.push((signal.reason as TaskError).code)
      signal.throwIfAborted()
    })
    await stream.start()
    await stream.submit(job, undefined, { id: 'short', timeoutMs: 1 })
    await stream.submit(job, undefined, { id: 'usual' })
    await expect.poll(() => fixture.states(job)).toEqual({ failed: 1, succeeded: 1 })
    expect([(await fixture.page(job))[0], reasons]).toMatchObject([{ reason: 'timeout', externalId: 'short' }, ['TASK_TIMEOUT']])
    for (const timeoutMs of [0, 0.5, 86_400_001])
      expect(await codeOf(() => stream.submit(job, undefined, { timeoutMs }))).toBe('ARGUMENT_INVALID')
    const topic = defineTopic('timed-topic', { input: json<number>() })
    const each = (): object => ({ timeoutMs: 1 })
    expect(await codeOf(() => stream.transaction((tx) => stream.topic(topic).push(tx, [1], { each })))).toBe('ARGUMENT_INVALID')
  })

  test('ends a job whose handler does not let go, with the reason timeout, and its commit is refused', async () => {
    const clock = watchedClock()
    const job = defineJob('stuck', { timeoutMs: 5_000, retry: never })
    const begun = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    const stuck: number[] = []
    await using stream = fixture.streamOf({
      clock,
      heartbeatIntervalMs: 3_000,
      leaseMs: 86_400_000,
      maintenanceIntervalMs: 86_400_000,
      listener: { onStuck: ({ heldMs }) => void stuck.push(heldMs) },
    })
    stream.handle(job, async ({ commit }) => {
      begun.resolve()
      await go.promise
      return commit((transaction) => fixture.effect(transaction, 'too late'))
    })
    await stream.start()
    await stream.submit(job)
    await begun.promise
    clock.advance(5_000)
    clock.advance(2_000)
    await expect.poll(() => fixture.states(job)).toEqual({ failed: 1 })
    expect(await fixture.page(job)).toMatchObject([{ reason: 'timeout' }])
    go.resolve()
    await stream.stop({ graceMs: 0, abortMs: 0 })
    expect([stuck, await fixture.effects()]).toEqual([[7_000], []])
  })

  test('leaves no more handlers behind than may be at work at a time, says so, and goes on once they end', async () => {
    const clock = watchedClock()
    const job = defineJob('hung', { timeoutMs: 5_000, retry: never })
    const go = Promise.withResolvers<void>()
    const told: unknown[] = []
    let [alive, most] = [0, 0]
    await using stream = fixture.streamOf({
      clock,
      heartbeatIntervalMs: 3_000,
      leaseMs: 86_400_000,
      maintenanceIntervalMs: 86_400_000,
      listener: {
        onError: ({ activity, error }) => void (activity === 'poll' && told.push(error)),
        onRecovered: ({ activity }) => void told.push(activity),
      },
    })
    stream.handle(
      job,
      async () => {
        most = Math.max(most, ++alive)
        await go.promise
        alive--
      },
      { concurrency: 2 },
    )
    await stream.start()
    for (let count = 0; count < 7; count++) await stream.submit(job)
    await expect.poll(() => alive).toBe(2)
    clock.advance(5_000)
    clock.advance(2_000)
    await expect.poll(() => told).toMatchObject([{ code: 'HANDLERS_HUNG', data: { topic: 'hung', hung: 2 } }])
    expect(stream.troubles).toEqual(['poll hung'])
    await expect.poll(() => fixture.states(job)).toEqual({ failed: 2, ready: 5 })
    go.resolve()
    await expect.poll(() => fixture.states(job)).toEqual({ failed: 2, succeeded: 5 })
    expect([told.slice(1), most, stream.troubles]).toEqual([['poll'], 2, []])
  })

  test('that is up in a commit has the process report by a transaction of its own', async () => {
    const job = defineJob('stuck-in-commit', { timeoutMs: 1, retry: never })
    const go = Promise.withResolvers<void>()
    const errors: unknown[] = []
    let stuck = 0
    await using stream = fixture.streamOf({
      listener: { onStuck: () => void stuck++, onError: ({ error }) => void errors.push((error as TaskError).code) },
    })
    stream.handle(job, ({ commit }) => commit(() => go.promise))
    await stream.start()
    await stream.submit(job)
    await expect.poll(() => stuck).toBe(1)
    // What the process tells of itself it cannot tell within the transaction of the commit.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    go.resolve()
    await expect.poll(() => fixture.states(job)).not.toMatchObject({ active: 1 })
    expect(errors).not.toContain('LIFECYCLE')
  })

  test('ends soon for a job that was cancelled, and whose handler does not let go', async () => {
    const clock = watchedClock()
    const job = defineJob('deaf', { input: json<string>(), timeoutMs: 3_600_000, id: (input) => input, retry: never })
    const go = Promise.withResolvers<void>()
    const begun: string[] = []
    const stuck: unknown[] = []
    await using stream = fixture.streamOf({
      clock,
      heartbeatIntervalMs: 3_000,
      leaseMs: 86_400_000,
      maintenanceIntervalMs: 86_400_000,
      listener: { onStuck: ({ at, heldMs }) => void stuck.push([at?.identifier, heldMs]) },
    })
    stream.handle(
      job,
      async ({ input }) => {
        begun.push(input)
        if (input !== 'next') await go.promise
      },
      { concurrency: 2 },
    )
    await stream.start()
    for (const input of ['cancelled', 'other']) await stream.submit(job, input)
    await expect.poll(() => begun).toHaveLength(2)
    await stream.submit(job, 'next')
    await stream.transaction((transaction) => stream.cancel(transaction, job, 'cancelled'))
    clock.advance(2_000)
    await expect.poll(() => begun).toContain('next')
    expect(stuck).toEqual([['deaf', 2_000]])
    go.resolve()
    await expect.poll(() => fixture.states(job)).toEqual({ filtered: 1, succeeded: 2 })
  })

  test('begins anew with extend, up to maxRunMs, and cannot be extended when it is up', async () => {
    const clock = watchedClock()
    const job = defineJob('extended', { timeoutMs: 4_000, maxRunMs: 10_000, retry: never })
    const steps: (() => void)[] = []
    const seen: unknown[] = []
    const ended = Promise.withResolvers<void>()
    await using stream = fixture.streamOf({
      clock,
      heartbeatIntervalMs: 3_000,
      leaseMs: 86_400_000,
      maintenanceIntervalMs: 86_400_000,
    })
    stream.handle(job, async ({ signal, extend }) => {
      steps.push(extend)
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      seen.push((signal.reason as TaskError).data['timeoutMs'])
      try {
        extend()
      } catch (error) {
        seen.push((error as TaskError).code)
      }
      ended.resolve()
    })
    await stream.start()
    await stream.submit(job)
    await expect.poll(() => steps.length).toBe(1)
    const [extend] = steps as [() => void]
    clock.advance(3_000)
    extend()
    clock.advance(3_000)
    extend()
    clock.advance(3_000)
    extend()
    // Nine seconds have passed: one is left of the ten.
    expect(seen).toEqual([])
    clock.advance(1_000)
    await ended.promise
    expect(seen).toEqual([10_000, 'TASK_TIMEOUT'])
  })
})
