/** Jobs that programs and services handle: their answers end the jobs in the database, and nothing goes on for a job that was taken away. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { thrownBy } from '@taskstream/task-testing/suite'
import { defineJob, externalProcess, fixed, httpRequest, json, never } from 'taskstream'
import type { ExternalHandler, ExternalJob, TaskAttempt } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { newMark, processesOf } from '../processes.ts'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

interface Service extends AsyncDisposable {
  readonly url: string
  /** The idempotency key of each request. */
  readonly keys: unknown[]
}

/** A service that answers so to each request, by its number and its body. */
async function serve(
  answer: (count: number, body: string) => { status: number; after?: string; body?: string },
): Promise<Service> {
  const keys: unknown[] = []
  const server = createServer((request, response) => {
    keys.push(request.headers['idempotency-key'])
    const count = keys.length
    let text = ''
    request.setEncoding('utf8').on('data', (part: string) => (text += part))
    request.on('end', () => {
      const { status, after, body } = answer(count, text)
      response.writeHead(status, after === undefined ? {} : { 'retry-after': after }).end(body)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/tasks`,
    keys,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const retry = fixed({ tries: 3, afterMs: 1 })

describe.skipIf(!canRun)('a job that is handled outside the program', () => {
  const fixture = useJobFixture()
  const mark = newMark()

  test('returns what a program prints, or a service answers, to whoever waits', async () => {
    await using service = await serve((_, body) => ({ status: 200, body }))
    const echo = { input: json<{ text: string }>(), output: z.object({ id: z.string(), input: z.unknown() }), retry: never }
    const printed = defineJob('external-printed', echo)
    const answered = defineJob('external-answered', echo)
    await using stream = fixture.streamOf()
    stream.handle(printed, externalProcess({ command: ['cat'] }))
    stream.handle(answered, httpRequest({ url: service.url }))
    await stream.start()
    const input = { text: 'quote " and 日 😀' }
    for (const job of [printed, answered])
      expect(await stream.wait(job, await stream.submit(job, input, { id: 'a' }))).toEqual({ id: 'a', input })
  })

  test('is tried again after a failure, unless the program or the service says that it is of no use', async () => {
    await using service = await serve((_, body) => ({ status: (JSON.parse(body) as { tries: number }).tries < 3 ? 503 : 204 }))
    await using refusing = await serve(() => ({ status: 422 }))
    const output = json<number>()
    // The number of the try stands in the job that the program reads.
    const third = externalProcess({ command: ['sh', '-c', `grep -q '"tries":3,' && echo 7 && exit; echo oh >&2; exit 75`] })
    const ways: readonly (readonly [name: string, handler: ExternalHandler, end: object])[] = [
      ['program', third, { state: 'succeeded', tries: 3 }],
      ['service', httpRequest({ url: service.url }), { state: 'succeeded', tries: 3 }],
      [
        'program-refusing',
        externalProcess({ command: ['sh', '-c', 'exit 65'] }),
        { state: 'failed', reason: 'terminated', tries: 1 },
      ],
      ['service-refusing', httpRequest({ url: refusing.url }), { state: 'failed', reason: 'terminated', tries: 1 }],
      ['program-failing', externalProcess({ command: ['sh', '-c', 'exit 1'] }), { state: 'failed', reason: 'tries', tries: 3 }],
    ]
    await using stream = fixture.streamOf()
    const jobs = ways.map(([name, handler, end]) => ({ job: defineJob(`external-${name}`, { retry }), handler, end }))
    const misfit = defineJob('external-misfit', { output: z.object({ pages: z.number() }), retry: never })
    const returning = defineJob('external-returning', { output, retry })
    for (const { job, handler } of jobs) stream.handle(job, handler)
    stream.handle(misfit, externalProcess({ command: ['echo', '{"pages":"many"}'] }))
    stream.handle(returning, third)
    await stream.start()
    for (const { job } of jobs) await stream.submit(job)
    const ref = await stream.submit(returning)
    expect(await stream.wait(returning, ref)).toBe(7)
    await thrownBy(async () => stream.wait(misfit, await stream.submit(misfit)))
    for (const { job, end } of jobs) await expect.poll(() => fixture.page(job)).toMatchObject([end])
    expect(await fixture.page(misfit)).toMatchObject([{ state: 'failed', output: expect.stringContaining('pages') as unknown }])
    expect(service.keys).toHaveLength(3)
    expect(new Set(service.keys).size).toBe(1)
    const attempts = await fixture.commit<readonly TaskAttempt[]>((transaction) => stream.attempts(transaction, returning, ref))
    const failed = /The program "sh" of the job "external-returning" @\d+ has ended with the exit code 75: oh\n/
    expect(attempts.map(({ outcome, message }) => [outcome, failed.test(message ?? '')])).toEqual([
      ['retried', true],
      ['retried', true],
    ])
  })

  test('comes back when a service says so, at the earliest, and no more often than it has tries', async () => {
    await using service = await serve((count) => ({ status: 429, after: count === 1 ? '3600' : '0' }))
    const waiting = defineJob('external-waiting', { retry })
    const busy = defineJob('external-busy', { retry })
    await using stream = fixture.streamOf()
    stream.handle(waiting, httpRequest({ url: service.url }))
    stream.handle(busy, httpRequest({ url: service.url }))
    await stream.start()
    await stream.submit(waiting)
    await expect.poll(() => fixture.page(waiting)).toMatchObject([{ state: 'suspended', tries: 1 }])
    const [task] = await fixture.page(waiting)
    expect(task!.due!.getTime() - task!.created.getTime()).toBeGreaterThanOrEqual(3_600_000)
    await stream.submit(busy)
    await expect.poll(() => fixture.page(busy)).toMatchObject([{ state: 'failed', reason: 'tries', tries: 3 }])
    expect(service.keys).toHaveLength(4)
  })

  test.each<[string, object]>([
    ['cancelled', { state: 'filtered', reason: 'cancelled' }],
    ['stopped', { state: 'ready', tries: 0 }],
    ['late', { state: 'failed', reason: 'timeout' }],
  ])('and is %s has its program ended, with all that it has started', async (way, end) => {
    const job = defineJob(`external-${way}`, { retry: never, ...(way === 'late' && { timeoutMs: 1_000 }) })
    const program = externalProcess({ command: ['sh', '-c', 'sleep "$1" & sleep "$1"', 'sh', mark], killAfterMs: 1_000 })
    const ended = Promise.withResolvers<string[]>()
    await using stream = fixture.streamOf()
    stream.handle(job, async (held: ExternalJob) => {
      try {
        return await program(held)
      } finally {
        ended.resolve(processesOf(mark))
      }
    })
    await stream.start()
    const ref = await stream.submit(job)
    // The time of a try begins before its program does.
    if (way !== 'late') await expect.poll(() => processesOf(`sleep ${mark}`)).toHaveLength(2)
    if (way === 'cancelled') await stream.transaction((transaction) => stream.cancel(transaction, job, ref))
    if (way === 'stopped') await stream.stop({ graceMs: 0 })
    expect(await ended.promise).toEqual([])
    await expect.poll(() => fixture.page(job)).toMatchObject([end])
  })
})
