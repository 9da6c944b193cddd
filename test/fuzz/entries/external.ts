/** Handlers outside of the program: their options, and any answer of a service. */
import { TaskDecisionError } from '@taskstream/task-api'
import { externalProcess, httpRequest, json } from 'taskstream/better-sqlite3'
import * as fc from 'fast-check'
import { some, soup } from '../draw.ts'
import type { FuzzedCall, FuzzedWorld } from '../property.ts'

const secret = 'geheim-0815'
const job = {
  name: 'mail',
  id: '@5',
  key: undefined,
  input: { a: 1 },
  tries: 1,
  attempt: 1,
  maxTries: undefined,
  deadline: undefined,
  tags: {},
  hasOutput: true,
  signal: new AbortController().signal,
  task: { topic: 'mail', sequence: 5, identifier: 'a' },
}

interface Answer {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  readonly body: readonly string[]
  readonly fails: boolean
}

const answers: fc.Arbitrary<Answer> = fc.record({
  status: fc.oneof(fc.constantFrom(200, 204, 429, 503), fc.integer({ min: 200, max: 599 })),
  headers: fc.array(
    fc.tuple(
      fc.constantFrom('retry-after', 'content-type', 'content-length', 'location'),
      fc.oneof(
        fc.constantFrom(
          '5',
          '-1',
          '1e9',
          '99999999999999999999',
          'Fri, 31 Dec 9999 23:59:59 GMT',
          'Wed, 99 Foo 2024 99:99:99 GMT',
          '',
          `${secret}`,
        ),
        fc.stringMatching(/^[ -~]{0,40}$/),
      ),
    ),
    { maxLength: 3 },
  ),
  body: fc.array(
    fc.oneof(
      fc.constantFrom(
        '{"a":1}',
        '',
        '[',
        '{"__proto__":1}',
        '"\\ud800"',
        '\0',
        '\uFEFF1',
        `"${secret}"`,
        '[['.repeat(50_000),
        '9'.repeat(100_000),
      ),
      fc.string({ unit: 'binary', maxLength: 20 }),
    ),
    { maxLength: 3 },
  ),
  fails: fc.integer({ min: 0, max: 9 }).map((one) => one === 0),
})

function responseOf({ status, headers, body, fails }: Answer): Response {
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of body) controller.enqueue(new TextEncoder().encode(part))
      if (fails) controller.error(new Error('cut off'))
      else controller.close()
    },
  })
  const own = new Headers()
  for (const [name, value] of headers) own.append(name, value)
  return new Response([204, 205, 304].includes(status) ? null : stream, { status, headers: own })
}

export async function openExternal(): Promise<FuzzedWorld> {
  const call = <Drawn>(
    name: string,
    drawn: fc.Arbitrary<Drawn>,
    fuzzed: (...args: never[]) => unknown,
    more: Partial<FuzzedCall> = {},
  ): FuzzedCall => ({
    name,
    drawn: drawn as never,
    args: (drawn) => drawn,
    call: fuzzed,
    codes: [],
    secrets: [secret],
    ...more,
  })
  const { fetch } = globalThis
  const ask = httpRequest({ url: 'http://mailer.internal/tasks', headers: { authorization: secret }, responseBytes: 200_000 })
  const addresses = soup([
    ...'http:_https:_ftp:_/_//_@_?_#_:_%_[::1]_localhost_:8080_\\_ _\0'.split('_'),
    `user:${secret}@`,
    `?key=${secret}`,
  ])
  const headers = fc.dictionary(
    fc.constantFrom('authorization', 'x-a', '__proto__', 'constructor', 'content-type', 'b\n'),
    fc.constant(secret),
  )
  return {
    calls: [
      call(
        'answer',
        fc.tuple(answers),
        async (answer: Answer) => {
          globalThis.fetch = async () => responseOf(answer)
          try {
            return await ask(job as never)
          } catch (error) {
            // It says that no further try will help.
            if (!(error instanceof TaskDecisionError)) throw error
            if (error.message.includes(secret) || error.message.length > 5_000)
              throw new Error(`A wrong message: ${error.message}`, { cause: error })
            return undefined
          }
        },
        { isAsync: true, isUnchanged: true, codes: ['REQUEST_FAILED', 'OUTPUT_INVALID', 'OUTPUT_TOO_LONG'] },
      ),
      call(
        'httpRequest',
        fc.tuple(
          some({
            headers: fc.constantFrom({}, { authorization: secret }),
            method: fc.constantFrom('POST', 'PUT', 'PATCH'),
            attemptMs: fc.integer({ min: 1, max: 300_000 }),
            responseBytes: fc.integer({ min: 1, max: 16_777_216 }),
          }).map((rest) => ({ url: 'http://mailer.internal/a?b=c', ...rest })),
        ),
        httpRequest as never,
      ),
      call('httpRequest of an address', fc.tuple(fc.record({ url: addresses, headers })), httpRequest as never, { isWild: true }),
      call(
        'externalProcess',
        fc.tuple(
          some({
            env: fc.constantFrom({}, { KEY: secret }),
            outputBytes: fc.integer({ min: 1, max: 16_777_216 }),
            killAfterMs: fc.nat(3_600_000),
          }).map((rest) => ({
            command: ['true', secret],
            ...rest,
          })),
        ),
        externalProcess as never,
        { changedCodes: ['PROGRAM_NOT_STARTED'] },
      ),
      call('json', fc.tuple(), json as never),
    ],
    [Symbol.asyncDispose]: async () => {
      globalThis.fetch = fetch
    },
  }
}
