/** Keys of jobs take turns, so that nobody waits for the backlog of somebody else. */
import { defineJob, defineQueue, json } from 'taskstream'
import type { JobRef } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

describe.skipIf(!canRun)('jobs of the order shared', () => {
  const fixture = useJobFixture()

  test('are handled by turns of their keys, high and low ones in the shares of the process', async () => {
    const job = defineJob('import', { input: json<string>(), key: (file) => file.split('/')[0]!, order: 'shared' })
    const stream = fixture.streamOf()
    await stream.prepare(job)
    const files = ['ann/1', 'ann/2', 'ann/3', 'ann/4', 'bob/1']
    await stream.transaction<JobRef[]>((transaction) =>
      stream.pushMany(
        transaction,
        job,
        files.map((file) => [file]),
      ),
    )
    await stream.submit(job, 'ann/low', { priority: -1 })
    const handled: string[] = []
    stream.handle(job, ({ input }) => void handled.push(input), { concurrency: 1, shares: { high: 1, low: 1 } })
    await stream.start()
    await expect.poll(() => fixture.states(job)).toEqual({ succeeded: 6 })
    // Each key has a high job in its first turn, and a low one in its second, of which bob has none.
    expect(handled).toEqual(['ann/1', 'bob/1', 'ann/low', 'ann/2', 'ann/3', 'ann/4'])
    await stream.stop()
  })

  test('share a queue by their keys, whatever their definitions', async () => {
    const queue = defineQueue('of-customers', { order: 'shared' })
    const mail = defineJob('of-customers:mail', { queue, input: json<string>(), key: (customer) => customer })
    const bill = defineJob('of-customers:bill', { queue, input: json<string>(), key: (customer) => customer })
    const stream = fixture.streamOf()
    await stream.prepare(mail, bill)
    for (let count = 0; count < 5; count++) await stream.submit(mail, 'ann')
    await stream.submit(bill, 'bob')
    const handled: string[] = []
    stream.route(
      queue,
      { 'of-customers:*': ({ name, input }) => void handled.push(`${name} ${String(input)}`) },
      { concurrency: 1 },
    )
    await stream.start()
    await expect.poll(() => fixture.states(queue)).toEqual({ succeeded: 6 })
    expect(handled.slice(0, 3)).toEqual(['of-customers:mail ann', 'of-customers:bill bob', 'of-customers:mail ann'])
    await stream.stop()
  })
})
