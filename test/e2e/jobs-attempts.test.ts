/** The tries of a job that did not succeed can be looked at, while it is tried again and afterwards. */
import { codeOf } from '@taskstream/task-testing/suite'
import { defineJob, exponential, json, never, TaskDecision } from 'taskstream'
import type { Job, JobRef, TaskAttempt } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'
import type { TestStream } from './job-fixture.ts'

describe.skipIf(!canRun)('a job that does not succeed at once', () => {
  const fixture = useJobFixture()
  const attemptsOf = <Name extends string>(
    stream: TestStream,
    job: Job<Name, never, unknown, string>,
    which: string | JobRef<NoInfer<Name>>,
  ): Promise<readonly TaskAttempt[]> =>
    fixture.commit<readonly TaskAttempt[]>((transaction) => stream.attempts(transaction, job, which))

  test('shows each try that failed with its error, by its id and by its reference', async () => {
    const job = defineJob('at-last', { input: json<number>(), retry: exponential({ tries: 5, firstMs: 1, jitter: 0 }) })
    let calls = 0
    await using stream = fixture.streamOf()
    stream.handle(job, () => {
      calls++
      if (calls === 1) throw new TypeError('of no use\nand more')
      if (calls === 2) return TaskDecision.retry({ afterMs: 1 }, 'not yet')
      return calls === 3 ? TaskDecision.snooze({ afterMs: 1 }, 'busy') : undefined
    })
    await stream.start()
    const ref = await stream.submit(job, 1, { id: 'a' })
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: 1 })
    for (const which of ['a', ref]) {
      expect(await attemptsOf(stream, job, which)).toMatchObject([
        { attempt: 1, outcome: 'retried', error: 'TypeError: of no use', owner: stream.tasks.owner },
        { attempt: 2, outcome: 'retried', error: 'not yet', message: 'not yet' },
      ])
    }
    const [first] = await attemptsOf(stream, job, 'a')
    expect(first!.message).toMatch(/^TypeError: of no use\nand more\n {4}at /)
    expect(first!.ended.getTime()).toBeGreaterThanOrEqual(first!.started!.getTime())
    expect(await attemptsOf(stream, job, 'b')).toEqual([])
  })

  test('keeps its history when somebody has it tried again', async () => {
    const job = defineJob('again-by-hand', { input: json<number>(), retry: never })
    let isMended = false
    await using stream = fixture.streamOf()
    stream.handle(job, () => {
      if (!isMended) throw new Error('it is broken')
    })
    await stream.start()
    const ref = await stream.submit(job, 1)
    await expect.poll(() => fixture.states(job)).toEqual({ failed: 1 })
    isMended = true
    await stream.transaction((transaction) => stream.retry(transaction, job, ref))
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: 1 })
    expect(await attemptsOf(stream, job, ref)).toMatchObject([{ attempt: 1, outcome: 'failed', error: 'Error: it is broken' }])
  })

  test('shows a try whose time was up as a timeout', async () => {
    const job = defineJob('too-slow', { retry: never, timeoutMs: 20 })
    await using stream = fixture.streamOf()
    stream.handle(job, ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))))
    await stream.start()
    const ref = await stream.submit(job)
    await expect.poll(() => fixture.states(job)).toEqual({ failed: 1 })
    expect(await attemptsOf(stream, job, ref)).toMatchObject([{ attempt: 1, outcome: 'timeout', reason: 'timeout' }])
  })

  test('loses its history by its age once it has succeeded, and not before', async () => {
    const job = defineJob('short-memory', { input: json<boolean>(), retry: exponential({ tries: 2, firstMs: 1 }) })
    // Maintenance purges attempts at its first run, and then every ten minutes.
    const worker = fixture.streamOf()
    worker.handle(job, ({ input, tries }) => {
      if (input || tries === 1) throw new Error('no')
    })
    await worker.start()
    const [good, bad] = [await worker.submit(job, false), await worker.submit(job, true)]
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: 1, failed: 1 })
    await worker.stop()
    expect(await attemptsOf(worker, job, good)).toHaveLength(1)
    await using stream = fixture.streamOf({ keepAttemptsMs: 0 })
    stream.handle(job, () => {})
    await stream.start()
    await expect.poll(() => attemptsOf(stream, job, good)).toEqual([])
    expect(await attemptsOf(stream, job, bad)).toHaveLength(2)
  })

  test('is refused a look by a name that no job can have, or of a topic that nobody knows', async () => {
    const job = defineJob('looked-at-wrongly')
    const stream = fixture.streamOf()
    expect(await codeOf(() => attemptsOf(stream, job, '@1'))).toBe('TOPIC_UNKNOWN')
    for (const wrong of ['@one', '', { key: 'k' }])
      expect(await codeOf(() => attemptsOf(stream, job, wrong as string))).toBe('ARGUMENT_INVALID')
    expect(() => fixture.streamOf({ keepAttemptsMs: -1 })).toThrow('keepAttemptsMs')
  })
})
