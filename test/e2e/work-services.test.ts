/** `taskstream work` has services handle tasks: what their answers mean, and what they are told of who asks. */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useWorkers } from './work-process.ts'

interface Asked {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

describe.skipIf(!canRun)('a service that handles tasks', () => {
  const { fixture, folder, start, work } = useWorkers()
  const asked: Asked[] = []
  let answer: RequestListener = (_, response) => response.end()
  let url = ''
  let server: ReturnType<typeof createServer>
  beforeEach(async () => {
    asked.splice(0)
    server = createServer((request, response) => {
      void text(request).then((body) => {
        asked.push({ headers: request.headers, body })
        answer(request, response)
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/tasks`
  })
  afterEach(() => {
    server.closeAllConnections()
    server.close()
  })
  const bodies = (): Record<string, unknown>[] => asked.map(({ body }) => JSON.parse(body) as Record<string, unknown>)

  test('ends each as its status says, and is asked for each as for a job', async () => {
    answer = (_, response) => response.writeHead(Number(bodies().at(-1)!['key']), { 'retry-after': '3600' }).end('text')
    await fixture.push({ identifier: '200', input: '{"to":"ann"}', externalId: 'order 7' }, { identifier: '422', input: 'plain' })
    await fixture.push('503', '302')
    await work('--http', `${url}?token=correct-horse`, '--retry', 'fixed(1ms, 2)')
    const pages = await fixture.page()
    expect(pages).toMatchObject([
      { identifier: '200', state: 'succeeded' },
      {
        identifier: '422',
        state: 'failed',
        reason: 'terminated',
        output: expect.stringContaining('422 Unprocessable') as string,
      },
      { identifier: '503', state: 'suspended', tries: 1 },
      { identifier: '302', state: 'failed', reason: 'terminated', output: expect.stringContaining('is not followed') as string },
    ])
    // The service has asked for patience.
    expect(pages[2]!.due!.getTime() - pages[2]!.created.getTime()).toBeGreaterThanOrEqual(3_600_000)
    expect(JSON.stringify(pages)).not.toMatch(/correct-horse|\n? at /)
    const name = fixture.topic
    const common = { name, tries: 1, attempt: 1, maxTries: null, deadline: null, tags: {} }
    expect(bodies()).toMatchObject([
      { ...common, id: 'order 7', key: '200', input: { to: 'ann' } },
      { ...common, id: `@${pages[1]!.sequence}`, key: '422', input: 'plain' },
      { key: '503', input: null },
      { key: '302' },
    ])
    expect(asked[0]!.headers['idempotency-key']).toBe(`${name}/${pages[0]!.sequence}`)
  })

  test('knows who asks by headers and a signature, which are read from files', async () => {
    answer = (_, response) => response.end()
    await fixture.push('a')
    writeFileSync(join(folder(), 'headers'), '# who we are\nauthorization: Bearer correct-horse\n\nX-Tenant:  7 \n')
    writeFileSync(join(folder(), 'secret'), `${secret}\n`)
    const { err } = await work('--http', url, '--headers-file', 'headers', '--secret-file', 'secret', '--verbose')
    const [{ headers, body }] = asked as [Asked]
    expect(headers).toMatchObject({ authorization: 'Bearer correct-horse', 'x-tenant': '7' })
    const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`
    const key = Buffer.from(secret.slice(6), 'base64')
    expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`)
    expect(err).not.toMatch(/correct-horse|MfKQ/)
    writeFileSync(join(folder(), 'wrong'), 'x: y\nauthorization Bearer correct-horse\n')
    const { code, err: refused } = await start('--http', url, '--headers-file', 'wrong').ended
    expect([code, refused]).toEqual([2, expect.stringMatching(/^error: Line 2 of wrong is no header/)])
    expect(refused).not.toContain('correct-horse')
  })

  test('may answer with a value, and has failed if it answers with none', async () => {
    answer = (_, response) => response.end(bodies().at(-1)!['key'] === 'a' ? '{"pages":3}' : 'three')
    await fixture.push('a', 'b')
    await work('--http', url, '--value', '--retry', 'none')
    const [first, second] = await fixture.page()
    expect([first, second]).toMatchObject([
      { state: 'succeeded' },
      { state: 'failed', output: expect.stringMatching(/ is no JSON in UTF-8/) as string },
    ])
    expect(await fixture.commit((transaction) => fixture.tasks.endings(transaction, [first!]))).toMatchObject([
      { value: '{"pages":3}' },
    ])
  })

  test('that is too slow, or not there, has failed', async () => {
    answer = () => {}
    await fixture.push('a')
    await work('--http', url, '--timeout', '300ms', '--retry', 'none')
    expect(await fixture.page()).toMatchObject([
      { state: 'failed', reason: 'timeout', output: expect.stringContaining('was not answered within 300 ms') as string },
    ])
    await fixture.nextTopic()
    await fixture.push('a')
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await work('--http', url, '--retry', 'none')
    expect(await fixture.page()).toMatchObject([{ state: 'failed', output: expect.stringContaining('ECONNREFUSED') as string }])
  })

  test('is left at a stop, and the task is handed back', async () => {
    answer = () => {}
    await fixture.push('a')
    const worker = start('--http', url, '--grace', '0s')
    await expect.poll(() => asked).toHaveLength(1)
    worker.kill('SIGTERM')
    expect(await worker.ended).toMatchObject({ code: 0, err: expect.stringMatching(/stopped: 1 returned\n$/) as string })
    expect(await fixture.page()).toMatchObject([{ state: 'ready', tries: 0 }])
  })
})
