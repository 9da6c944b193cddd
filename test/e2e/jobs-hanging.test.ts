/** A commit that hangs, on a server: those that share its transaction are done without it, and it is done once. */
import { defineJob, json } from 'taskstream'
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
})
