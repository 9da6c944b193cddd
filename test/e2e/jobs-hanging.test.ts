/** A commit that hangs, on a server: those that share its transaction are done without it, and it is done once. */
import { setTimeout } from 'node:timers/promises'
import type { TaskError } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import { defineJob, fixed, json, never } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

describe.skipIf(!canRun)('a commit that hangs', () => {
  const fixture = useJobFixture()

  test('keeps no other waiting for long, and takes effect once when it goes on', async () => {
    const job = defineJob('hangs', { input: json<number>() })
    const gate = Promise.withResolvers<void>()
    await using stream = fixture.streamOf()
    stream.handle(
      job,
      ({ input, commit }) =>
        commit(async (transaction) => {
          if (input === 9) await gate.promise
          await fixture.effect(transaction, `${input}`.padStart(2, '0'))
        }),
      { concurrency: 30 },
    )
    await stream.start()
    const count = 30
    await stream.transaction((transaction) =>
      stream.pushMany(
        transaction,
        job,
        Array.from({ length: count }, (_, n) => [n]),
      ),
    )
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: count - 1, active: 1 })
    gate.resolve()
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: count })
    expect((await fixture.effects()).toSorted()).toEqual(Array.from({ length: count }, (_, n) => `${n}`.padStart(2, '0')))
    expect((await fixture.page(job)).filter(({ tries }) => tries !== 1)).toEqual([])
  })

  test('is asked to let go when its time is up, and after that its job is tried again without it', async () => {
    const job = defineJob('hangs-alone', { timeoutMs: 200, retry: fixed({ tries: 2, afterMs: 0 }) })
    await using stream = fixture.streamOf()
    const reasons: unknown[] = []
    const gate = Promise.withResolvers<void>()
    stream.handle(job, ({ tries, signal, commit }) =>
      commit(async (transaction) => {
        if (tries === 1) {
          signal.addEventListener('abort', () => reasons.push((signal.reason as TaskError).code))
          await gate.promise
        }
        await fixture.effect(transaction, `try ${tries}`)
      }),
    )
    await stream.start()
    await stream.submit(job, undefined, { id: 'a' })
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: 1 })
    expect(reasons).toEqual(['TASK_TIMEOUT'])
    const [first] = await stream.transaction((transaction) => stream.attempts(transaction, job, 'a'))
    expect(first).toMatchObject({ attempt: 1, error: expect.stringContaining('its timeout is over') })
    gate.resolve()
    await stream.stop()
    expect(await fixture.effects()).toEqual(['try 2'])
  })

  test('has its whole time for its writes, however long the database was waited for', async () => {
    const job = defineJob('waits-first', { timeoutMs: 300, retry: never })
    await using stream = fixture.streamOf()
    const locked = Promise.withResolvers<void>()
    const lockTasks = stream.tasks.verb(function* ({ dialect }) {
      yield sql`select sequence from ${dialect.tables.task} where topic = ${job.name} for update`
    })
    stream.handle(job, async ({ commit }) => {
      await locked.promise
      return commit((transaction) => fixture.effect(transaction, 'done'))
    })
    await stream.start()
    await stream.submit(job, undefined, { id: 'a' })
    await expect.poll(() => fixture.states(job)).toEqual({ active: 1 })
    await stream.transaction(async (transaction) => {
      await lockTasks(transaction)
      locked.resolve()
      // Longer than its time, and than what a handler may take to let go.
      await setTimeout(2_600)
    })
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: 1 })
    expect(await fixture.effects()).toEqual(['done'])
  })
})
