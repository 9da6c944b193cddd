/** Signatures of requests, in the form of Standard Webhooks (standardwebhooks.com), which libraries of many languages verify. */
import { createHmac } from 'node:crypto'
import { secretInvalid } from '../definitions/secret-options.ts'

/** Makes the headers that sign a body. */
export type WebhookSigner = (id: string, body: string) => readonly (readonly [name: string, value: string])[]

export const webhookHeaderNames: readonly string[] = ['webhook-id', 'webhook-timestamp', 'webhook-signature']

/** @throws TaskError ARGUMENT_INVALID, without the secret */
export function webhookSigner(secret: string): WebhookSigner {
  const key = keyOf(secret)
  return (id, body) => {
    // The time is that of the request, so that who records one cannot repeat it later.
    const timestamp = String(Math.floor(Date.now() / 1_000))
    return [
      ['webhook-id', id],
      ['webhook-timestamp', timestamp],
      ['webhook-signature', `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`],
    ]
  }
}

function keyOf(secret: unknown): Buffer {
  const rule = 'must be whsec_ and 24 to 64 random bytes in base64, as openssl rand -base64 32 prints them'
  const text = typeof secret === 'string' ? /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1] : undefined
  if (text === undefined) throw secretInvalid('signingSecret', rule)
  const key = Buffer.from(text, 'base64')
  if (key.length < 24 || key.length > 64) throw secretInvalid('signingSecret', rule)
  return key
}
