/** Requests to services are signed as the libraries of Standard Webhooks verify them. */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { httpRequest } from 'taskstream'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { jobOf, outcomeOf } from './outside.ts'
import { webhookSigner } from '../../packages/task-jobs/src/external/webhook-signature.ts'

afterEach(() => void vi.useRealTimers())

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

describe('the signature of a request', () => {
  test('is that of the example of Standard Webhooks', () => {
    vi.useFakeTimers({ now: 1_614_265_330_900 })
    expect(webhookSigner(secret)('msg_p5jXN8AQM9LWM0D4loKWxJek', '{"test": 2432232314}')).toEqual([
      ['webhook-id', 'msg_p5jXN8AQM9LWM0D4loKWxJek'],
      ['webhook-timestamp', '1614265330'],
      ['webhook-signature', 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='],
    ])
  })

  test('covers the bytes of a body in UTF-8', () => {
    vi.useFakeTimers({ now: 5_000 })
    const [, , [, signature] = []] = webhookSigner(secret)('a/1', '{"name":"日"}')
    const key = Buffer.from(secret.slice(6), 'base64')
    expect(signature).toBe(`v1,${createHmac('sha256', key).update(Buffer.from('a/1.5.{"name":"日"}')).digest('base64')}`)
  })

  test('is on a request to a service, over the body that arrives, and no header of the user replaces it', async () => {
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature } = request.headers
        const signed = createHmac('sha256', Buffer.from(secret.slice(6), 'base64')).update(
          `${String(id)}.${String(time)}.${body}`,
        )
        const isSigned = id === request.headers['idempotency-key'] && signature === `v1,${signed.digest('base64')}`
        response.writeHead(isSigned ? 204 : 401).end()
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/tasks`
    try {
      expect(await outcomeOf(httpRequest({ url, signingSecret: secret }), jobOf())).toBe('success')
      const headers = { 'Webhook-Id': 'render/4711' }
      expect(() => httpRequest({ url, signingSecret: secret, headers })).toThrow(
        'headers.Webhook-Id is set by each request itself',
      )
      expect(await outcomeOf(httpRequest({ url, headers }), jobOf())).toMatchObject({ 'failure, terminated': {} })
    } finally {
      server.close()
    }
  })

  test.each([
    ['without whsec_', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    ['with a line end', `${secret}\n`],
    ['with what is not base64', 'whsec_secret-secret-secret-secret-secret'],
    ['that is too short', 'whsec_c2VjcmV0'],
    ['that is too long', `whsec_${Buffer.alloc(65).toString('base64')}`],
    ['that is no text', 7 as unknown as string],
  ])('is not made by a secret %s, which the error does not show', (_, wrong) => {
    const error = (() => {
      try {
        return webhookSigner(wrong)
      } catch (thrown) {
        return thrown
      }
    })()
    expect(error).toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument: 'signingSecret' } })
    expect(JSON.stringify(error) + String(error)).not.toContain(String(wrong))
  })
})
