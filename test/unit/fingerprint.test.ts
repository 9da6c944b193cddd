import { describe, expect, test } from 'vitest'
import { fingerprintOf } from '../../packages/task-sql/src/verbs/fingerprint.ts'

const stack = (line: number, file = '/srv/app/src/charge.ts'): string => `CardDeclined: no
    at Client.send (/srv/app/node_modules/client/index.js:7:3)
    at charge (${file}:${line}:11)
    at node:internal/process/task_queues:104:5`

describe('the fingerprint of an error', () => {
  test.each([
    ['numbers', 'waited 12 s of 30', 'waited 7 s of 31'],
    ['ids', 'no order 018f3b1c-3a5e-7d20-9f11-22aa33bb44cc', 'no order 018f3b1c-3a5e-7d20-9f11-22aa33bb44cd'],
    ['hashes', 'bad object deadbeef01', 'bad object 0123456789abcdef'],
    ['quoted words', `unknown currency "NOK"`, `unknown currency "SEK"`],
    ['addresses', 'refused by https://a.example/x?y=1', 'refused by http://b.example'],
    ['people', 'no mailbox kari@example.org', 'no mailbox ola.nordmann@example.com'],
    ['what follows 500 characters', 'x '.repeat(250) + 'a', 'x '.repeat(250) + 'b'],
  ])('is the same whatever %s it names', (_what, one, other) => {
    expect(fingerprintOf(one, undefined)).toBe(fingerprintOf(other, undefined))
  })

  test.each([
    ['words', 'card declined', 'card expired'],
    ['statuses', 'HTTP 503 from *', 'HTTP 404 from *'],
    ['codes', 'errno: 13', 'errno: 2'],
  ])('differs with %s', (_what, one, other) => {
    expect(fingerprintOf(one, undefined)).not.toBe(fingerprintOf(other, undefined))
  })

  test('outlives a release that moves lines and folders, and differs where another function of the program has failed', () => {
    const before = fingerprintOf('CardDeclined: no', stack(12))
    expect(fingerprintOf('CardDeclined: no', stack(90, 'C:\\app\\src\\charge.ts'))).toBe(before)
    expect(fingerprintOf('CardDeclined: no', stack(12, '/srv/app/src/refund.ts'))).not.toBe(before)
    expect(fingerprintOf('CardDeclined: no', stack(12).replace('at charge', 'at refund'))).not.toBe(before)
  })

  test.each([undefined, null, 7, [{ file: 'a' }], {}])('is made without a stack that is no text: %j', (stack) => {
    expect(fingerprintOf('no', stack)).toBe(fingerprintOf('no', undefined))
  })

  test('is short, and made in no time of a hostile text', () => {
    expect(fingerprintOf('a', undefined)).toMatch(/^[\w-]{16}$/)
    for (const part of ['0-', "'", '@', 'a:', '0x', '\u202E', '\u001B['])
      expect(fingerprintOf(part.repeat(100_000), `${part.repeat(100_000)}\n    at ${part.repeat(100_000)}`)).toHaveLength(16)
  })
})
