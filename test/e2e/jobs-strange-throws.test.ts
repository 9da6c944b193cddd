/** Whatever a handler, or the work that it commits, throws: its try is over, and others go on. */
import { defineJob, exponential } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

/** Values whose own code throws, whatever is asked of them. */
const strange: Readonly<Record<string, () => unknown>> = {
  revoked,
  throwing: () =>
    new Proxy(
      {},
      {
        get: () => {
          throw new RangeError('mine')
        },
        getPrototypeOf: () => {
          throw new RangeError('mine')
        },
      },
    ),
  caused: () => new Error('caused', { cause: revoked() }),
}

describe.skipIf(!canRun).each(Object.entries(strange))('a value that cannot be looked at, %s', (name, make) => {
  const fixture = useJobFixture()

  test('is an error of its try, wherever a job throws it', async () => {
    const retry = exponential({ tries: 2, firstMs: 1 })
    const [thrown, rejected, late, committed, good] = (['thrown', 'rejected', 'late', 'committed', 'good'] as const).map(
      (which) => defineJob(`strange-${name}-${which}`, { retry }),
    )
    const stream = fixture.streamOf()
    const hurl = (): never => {
      throw make()
    }
    stream.handle(thrown!, hurl)
    stream.handle(rejected!, async () => hurl())
    stream.handle(late!, async () => {
      await Promise.resolve()
      hurl()
    })
    stream.handle(committed!, ({ commit }) => commit(async () => hurl()))
    stream.handle(good!, () => {})
    await stream.start()
    const failing = [thrown!, rejected!, late!, committed!]
    for (const job of [...failing, good!]) await stream.submit(job)
    for (const job of failing) await expect.poll(() => fixture.states(job), { timeout: 20_000 }).toEqual({ failed: 1 })
    await expect.poll(() => fixture.states(good!)).toEqual({ succeeded: 1 })
    expect(stream.troubles).toEqual([])
    await stream.stop()
  })
})
