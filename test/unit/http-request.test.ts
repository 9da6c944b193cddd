/** A service handles a job: what its answer means, what it is asked, and how long it is waited for. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { TaskError } from '@taskstream/task-api'
import { exponential, fixed } from '@taskstream/task-processor'
import { thrownBy } from '@taskstream/task-testing/suite'
import { defineJob, httpRequest, never } from 'taskstream'
import type { HttpRequestOptions } from 'taskstream'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { taskOf } from './answering.ts'
import { jobOf, outcomeOf } from './outside.ts'

interface Asked {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

let answer: RequestListener = (_, response) => response.end()
const asked: Asked[] = []
const server = createServer((request, response) => {
  void bodyOf(request).then((body) => {
    asked.push({ method: request.method, path: request.url, headers: request.headers, body: JSON.parse(body) })
    answer(request, response)
  })
})
let url = ''

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/tasks`
})
beforeEach(() => void asked.splice(0))
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

const answering = (status: number, body = '', headers: Record<string, string> = {}): void => {
  answer = (_, response) => response.writeHead(status, headers).end(body)
}

describe('an answer', () => {
  const failed = (status: number): unknown => expect.objectContaining({ code: 'REQUEST_FAILED', data: { url, status } })

  test.each([200, 201, 202, 204])('of %i is success', async (status) => {
    answering(status)
    expect(await outcomeOf(httpRequest({ url }), jobOf())).toBe('success')
  })

  test.each([301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 409, 410, 413, 422, 499])(
    'of %i fails the job for good, and no other address is asked',
    async (status) => {
      answering(status, '', { location: `${url}/elsewhere`, 'retry-after': '7' })
      expect(await outcomeOf(httpRequest({ url }), jobOf())).toEqual({ 'failure, terminated': failed(status) })
      expect(asked).toHaveLength(1)
    },
  )

  test.each([408, 425, 429, 500, 501, 502, 503, 504, 599])('of %i is a failed try', async (status) => {
    answering(status)
    expect(await outcomeOf(httpRequest({ url }), jobOf())).toEqual(failed(status))
  })

  test('of a long address that cannot be asked quotes only its beginning', () => {
    const long = 'x'.repeat(9_000)
    for (const address of [`${long}:a`, `http://u:p@${long}`])
      expect(() => httpRequest({ url: address })).toThrow(
        expect.objectContaining({ message: expect.stringMatching(/^.{1,300}$/) }),
      )
  })

  test('without success is told in plain words, without the query, and without what the service has said', async () => {
    answering(503, 'secret')
    const error = (await outcomeOf(httpRequest({ url: `${url}?token=secret#secret` }), jobOf())) as TaskError
    expect(error.message).toBe(`POST ${url} for the job "render" order 7 was answered with 503 Service Unavailable`)
    expect(asked[0]?.path).toBe('/tasks?token=secret')
    answering(307, '', { location: '/secret' })
    const redirected = await outcomeOf(httpRequest({ url }), jobOf())
    expect(redirected).toMatchObject({
      'failure, terminated': {
        message: `POST ${url} for the job "render" order 7 was answered with 307 Temporary Redirect, which is not followed: give the address itself`,
      },
    })
  })

  test('is the output of a job that has one', async () => {
    answering(200, ' {"pages": 7, "title": "日 😀"}\n')
    expect(await outcomeOf(httpRequest({ url }), jobOf({ hasOutput: true }))).toEqual({ pages: 7, title: '日 😀' })
    answering(200, 'null')
    expect(await outcomeOf(httpRequest({ url }), jobOf({ hasOutput: true }))).toBeNull()
  })

  test.each([
    [204, '', 'is empty'],
    [200, '', 'is empty'],
    [200, 'hello', 'is no JSON in UTF-8'],
    [200, '{"pages":', 'is no JSON in UTF-8'],
  ])('of %i with the body %j is a failed try if the job has an output, and success otherwise', async (status, body, issue) => {
    answering(status, body)
    expect(await outcomeOf(httpRequest({ url }), jobOf({ hasOutput: true }))).toMatchObject({
      code: 'OUTPUT_INVALID',
      message: `The answer to POST ${url} for the job "render" order 7 ${issue}: the job "render" is defined with an output`,
    })
    expect(await outcomeOf(httpRequest({ url }), jobOf())).toBe('success')
  })

  test('that is too long is not read to its end: the connection is closed', async () => {
    const closed = Promise.withResolvers<boolean>()
    let written = 0
    answer = (_, response) => {
      response.writeHead(200)
      const chunk = 'x'.repeat(100_000)
      const write = (): void => {
        while (written < 10_000_000 && response.write(chunk)) written += chunk.length
        if (written >= 10_000_000) response.end()
      }
      response.on('drain', write)
      response.on('close', () => closed.resolve(response.writableFinished))
      write()
    }
    const tooLong = { code: 'OUTPUT_TOO_LONG', data: { url, mostBytes: 1_000 } }
    expect(await outcomeOf(httpRequest({ url, responseBytes: 1_000 }), jobOf())).toMatchObject(tooLong)
    expect(await closed.promise).toBe(false)
    expect(written).toBeLessThan(10_000_000)
    const zipped = gzipSync(`"${'x'.repeat(5_000)}"`)
    answer = (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(zipped)
    expect(zipped.length).toBeLessThan(1_000)
    expect(await outcomeOf(httpRequest({ url, responseBytes: 1_000 }), jobOf({ hasOutput: true }))).toMatchObject(tooLong)
    answering(200, `"${'x'.repeat(998)}"`)
    expect(await outcomeOf(httpRequest({ url, responseBytes: 1_000 }), jobOf({ hasOutput: true }))).toBe('x'.repeat(998))
    expect(await outcomeOf(httpRequest({ url, responseBytes: 999 }), jobOf())).toMatchObject({ code: 'OUTPUT_TOO_LONG' })
  })
})

describe('a service', () => {
  test('is given the job as JSON, with the same key for each try, and the end of this one', async () => {
    answering(200)
    const headers = { authorization: 'Bearer secret', 'X-Tenant': 'é' }
    const task = taskOf('render', 4711)
    const job = jobOf({ key: 'ann', tags: { tenant: 7 }, task: { ...task, topic: 'mails/日' } })
    const beforeMs = Date.now()
    await outcomeOf(httpRequest({ url, headers, attemptMs: 60_000 }), job)
    const afterMs = Date.now()
    await outcomeOf(httpRequest({ url: new URL(url), method: 'PUT' }), { ...job, tries: 2, attempt: 3, maxTries: 5 })
    const common = { id: 'order 7', name: 'render', key: 'ann', input: { to: 'ann' }, deadline: null, tags: { tenant: 7 } }
    expect(asked).toMatchObject([
      { method: 'POST', path: '/tasks', body: { ...common, tries: 1, attempt: 2, maxTries: null } },
      { method: 'PUT', path: '/tasks', body: { ...common, tries: 2, attempt: 3, maxTries: 5 } },
    ])
    const [first, second] = asked.map((one) => one.headers)
    expect(first).toMatchObject({
      'content-type': 'application/json',
      authorization: 'Bearer secret',
      'x-tenant': 'é',
      'idempotency-key': 'mails%2F%E6%97%A5/4711',
    })
    expect(second?.['idempotency-key']).toBe(first?.['idempotency-key'])
    const deadlineMs = Date.parse(String(first?.['attempt-deadline']))
    expect(deadlineMs).toBeGreaterThanOrEqual(beforeMs + 60_000)
    expect(deadlineMs).toBeLessThanOrEqual(afterMs + 60_000)
  })

  test('that does not answer in time, or not to the end, has the try fail with TASK_TIMEOUT, and the connection closed', async () => {
    for (const begin of [(): void => {}, (response: ServerResponse): unknown => response.writeHead(200).write('{"pages":')]) {
      const closed = Promise.withResolvers<void>()
      answer = (_, response) => {
        response.on('close', () => closed.resolve())
        begin(response)
      }
      expect(await outcomeOf(httpRequest({ url, attemptMs: 50 }), jobOf())).toMatchObject({
        code: 'TASK_TIMEOUT',
        message: `POST ${url} for the job "render" order 7 was not answered within 50 ms`,
        data: { timeoutMs: 50, url },
      })
      await closed.promise
    }
  })

  test('is left when the job’s signal is aborted, which is why the try ends', async () => {
    const controller = new AbortController()
    const closed = Promise.withResolvers<void>()
    answer = (_, response) => {
      response.on('close', () => closed.resolve())
      controller.abort(reason)
    }
    const reason = new TaskError('TASK_LOST', 'cancelled')
    expect(await thrownBy(() => httpRequest({ url })(jobOf({ signal: controller.signal })))).toBe(reason)
    await closed.promise
    asked.splice(0)
    expect(await thrownBy(() => httpRequest({ url })(jobOf({ signal: controller.signal })))).toBe(reason)
    expect(asked).toEqual([])
  })

  test.each<[string, (response: ServerResponse) => unknown]>([
    ['before it answers', (response) => response.destroy()],
    [
      'in the middle of its answer',
      (response) => response.writeHead(200, { 'content-length': '100' }).write('{', () => response.destroy()),
    ],
  ])('that closes the connection %s has the try fail, in plain words', async (_, close) => {
    answer = (_request, response) => void close(response)
    expect(await outcomeOf(httpRequest({ url }), jobOf())).toMatchObject({
      code: 'REQUEST_FAILED',
      message: `POST ${url} for the job "render" order 7 failed: other side closed`,
      data: { url },
    })
  })

  test('that is not there has the try fail, in plain words', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    other.close()
    await once(other, 'close')
    const nobody = `http://127.0.0.1:${port}/tasks`
    expect(await outcomeOf(httpRequest({ url: `${nobody}?token=secret` }), jobOf())).toMatchObject({
      code: 'REQUEST_FAILED',
      message: `POST ${nobody} for the job "render" order 7 failed: connect ECONNREFUSED 127.0.0.1:${port}`,
      data: { url: nobody },
    })
  })

  test('is not asked for a job that JSON cannot express: that ends the job', async () => {
    expect(await outcomeOf(httpRequest({ url }), jobOf({ input: { big: 7n } }))).toMatchObject({
      'failure, terminated': { code: 'ARGUMENT_INVALID' },
    })
    expect(asked).toEqual([])
  })
})

describe('a service that says when to come back', () => {
  const askedMs = async (value: string): Promise<unknown> => {
    answering(429, '', { 'retry-after': value })
    return ((await outcomeOf(httpRequest({ url }), jobOf())) as TaskError).data['retryAfterMs']
  }

  test('is understood in seconds and by a date, up to a day, and not otherwise', async () => {
    expect(await askedMs('120')).toBe(120_000)
    expect(await askedMs('0')).toBe(0)
    expect(await askedMs('99999999999999999999')).toBe(86_400_000)
    const inAnHour = Number(await askedMs(new Date(Date.now() + 3_600_000).toUTCString()))
    expect(inAnHour).toBeGreaterThan(3_590_000)
    expect(inAnHour).toBeLessThanOrEqual(3_600_000)
    expect(await askedMs(new Date(0).toUTCString())).toBe(0)
    expect(await askedMs(new Date('2100-01-01').toUTCString())).toBe(86_400_000)
    for (const value of ['', '-5', '1.5', '1e3', 'soon', '2100-01-01', 'Xxx, 99 Xxx 2100 99:99:99 GMT'])
      expect([value, await askedMs(value)]).toEqual([value, undefined])
  })

  test('is waited for at least so long, and for longer if the policy says so, while there are tries', () => {
    const busy = new TaskError('REQUEST_FAILED', 'busy', { retryAfterMs: 60_000 })
    const pauseOf = (retry: typeof never, tries: number, error: unknown): number | undefined =>
      defineJob('a', { retry }).settings.retry({ ...taskOf('a'), tries }, error)
    const short = fixed({ tries: 3, afterMs: 1_000, jitter: 0 })
    expect(pauseOf(short, 1, busy)).toBe(60_000)
    expect(pauseOf(short, 1, new Error('other'))).toBe(1_000)
    expect(pauseOf(short, 1, new TaskError('REQUEST_FAILED', 'broken', {}))).toBe(1_000)
    expect(pauseOf(short, 3, busy)).toBeUndefined()
    expect(pauseOf(never, 1, busy)).toBeUndefined()
    expect(pauseOf(exponential({ tries: 3, firstMs: 90_000, jitter: 0 }), 1, busy)).toBe(90_000)
  })
})

test('options that are wrong are refused by name, and without what may be a secret', async () => {
  const of = (options: unknown): Promise<TaskError> =>
    thrownBy(() => httpRequest(options as HttpRequestOptions)) as Promise<TaskError>
  for (const [options, argument] of [
    [undefined, 'options'],
    [{}, 'url'],
    [{ url: '/tasks?secret' }, 'url'],
    [{ url: 'http://user:secret@' }, 'url'],
    [{ url: 'ftp://host/secret' }, 'url'],
    [{ url: 'http://user:secret@host/' }, 'url'],
    [{ url: 'http://secret@host/' }, 'url'],
    [{ url: 'https://:secret@host/' }, 'url'],
    [{ url, method: 'GET' }, 'method'],
    [{ url, attemptMs: 0 }, 'attemptMs'],
    [{ url, attemptMs: 300_001 }, 'attemptMs'],
    [{ url, responseBytes: 0 }, 'responseBytes'],
    [{ url, responseBytes: 16_777_217 }, 'responseBytes'],
    [{ url, headers: 'secret' }, 'headers'],
    [{ url, headers: { 'Idempotency-Key': 'secret' } }, 'headers.Idempotency-Key'],
    [{ url, headers: { 'content-type': 'secret' } }, 'headers.content-type'],
    [{ url, headers: { 'content-length': 'secret' } }, 'headers.content-length'],
    [{ url, headers: { authorization: 'Bearer secret\nx' } }, 'headers.authorization'],
    [{ url, headers: { authorization: 'secret 日' } }, 'headers.authorization'],
    [{ url, headers: { authorization: ['secret'] } }, 'headers.authorization'],
    [{ url, header: { authorization: 'secret' } }, 'header'],
  ] as const) {
    const error = await of(options)
    expect([options, error.code, error.data['argument']]).toEqual([options, 'ARGUMENT_INVALID', argument])
    expect(JSON.stringify([error.message, error.data, error.cause])).not.toContain('secret')
  }
})
