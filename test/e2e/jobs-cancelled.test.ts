/** A job is cancelled while it is being handled: its handler is told, and commits nothing. */
import type { Cancellation, TaskError } from '@taskstream/task-api'
import { defineJob } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

describe.skipIf(!canRun)('the handler of a job that is cancelled', () => {
  const fixture = useJobFixture()

  test.each([
    ['by this process: its signal is aborted at once', 86_400_000, true],
    ['elsewhere: its signal is aborted at a look', 20, false],
  ])('commits nothing for it: cancelled %s', async (_, maintenanceIntervalMs, isHere) => {
    const job = defineJob(`cancelled-in-work-${isHere}`)
    const begun = Promise.withResolvers<AbortSignal>()
    const go = Promise.withResolvers<void>()
    const lost = Promise.withResolvers<void>()
    await using stream = fixture.streamOf({ maintenanceIntervalMs, listener: { onLost: () => lost.resolve() } })
    let ran = false
    stream.handle(job, async ({ signal, commit }) => {
      begun.resolve(signal)
      await go.promise
      return commit(async (transaction) => {
        ran = true
        await fixture.effect(transaction, 'never')
      })
    })
    await stream.start()
    const ref = await stream.submit(job)
    const signal = await begun.promise
    const transact = isHere ? stream.transaction.bind(stream) : fixture.commit
    const { taken } = await transact<Cancellation>((transaction) => stream.cancel(transaction, job, ref))
    expect(taken).toMatchObject([{ sequence: ref.sequence }])
    await expect.poll(() => (signal.reason as TaskError | undefined)?.code).toBe('TASK_LOST')
    go.resolve()
    await lost.promise
    await stream.stop()
    expect([ran, await fixture.effects()]).toEqual([false, []])
    expect(await fixture.page(job)).toMatchObject([{ state: 'filtered', reason: 'cancelled' }])
  })

  test('is reported as having lost it, and not as having failed, when it throws', async () => {
    const job = defineJob('throws-when-cancelled')
    const begun = Promise.withResolvers<void>()
    const told: string[] = []
    await using stream = fixture.streamOf({
      maintenanceIntervalMs: 86_400_000,
      listener: { onLost: () => void told.push('lost'), onError: () => void told.push('error') },
    })
    stream.handle(job, async ({ signal, commit }) => {
      begun.resolve()
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as TaskError)))
      return commit(() => {})
    })
    await stream.start()
    const ref = await stream.submit(job)
    await begun.promise
    await stream.transaction((transaction) => stream.cancel(transaction, job, ref))
    await expect.poll(() => told).toEqual(['lost'])
  })
})
