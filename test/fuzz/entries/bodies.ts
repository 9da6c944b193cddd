/** Bodies of answers, byte by byte over a real connection: of whatever encoding, in whatever parts, and ended in whatever way. */
import { isUtf8 } from 'node:buffer'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { isTaskError } from '@taskstream/task-api'
import { httpRequest } from 'taskstream/better-sqlite3'
import * as fc from 'fast-check'
import type { FuzzedWorld } from '../property.ts'

const secret = 'geheim-4711'
const mostBytes = 100_000
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

const encodings = { none: (bytes: Buffer) => bytes, gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync } as const
type Encoding = keyof typeof encodings

/** How the end of a body is told. With each but the first three it is told wrongly, or not at all. */
const ends = [
  'length',
  'chunks',
  'close',
  'length too great',
  'length too small',
  'chunks without end',
  'chunk too long',
  'cut',
] as const

interface Body {
  /** Bytes as hexadecimal digits, so that a failure can be read. */
  readonly parts: readonly string[]
  readonly encoding: Encoding
  /** How many bytes of the encoded body are missing at its end. */
  readonly missing: number
  readonly end: (typeof ends)[number]
}

const hex = (text: string | Uint8Array): string => Buffer.from(text as string).toString('hex')
const pieces: readonly string[] = [
  '{"a":1}',
  '{"__proto__":{"b":1}}',
  '[',
  ']',
  '"',
  '1',
  '9'.repeat(500),
  'null',
  ' ',
  '\n',
  '\uFEFF',
  'é',
  '😀',
  '\\ud800',
  '\0',
  `"${secret}"`,
].map(hex)
/** What is no UTF-8: a lone continuation, an overlong slash, half a surrogate, the first byte of a long character, and of none; also in quotes. */
const broken: readonly string[] = ['80', 'c0af', 'eda080', 'f09f98', 'ff', 'fffe7b00'].flatMap((bytes) => [bytes, `22${bytes}22`])
const long: readonly string[] = [hex('['.repeat(60_000)), hex(' '.repeat(mostBytes)), hex(`"${'x'.repeat(mostBytes - 2)}"`)]

const bodies: fc.Arbitrary<Body> = fc.record({
  parts: fc.oneof(
    { weight: 3, arbitrary: fc.json().map((text) => [hex(text)]) },
    {
      weight: 5,
      arbitrary: fc.array(
        fc.oneof(
          { weight: 6, arbitrary: fc.constantFrom(...pieces) },
          { weight: 2, arbitrary: fc.constantFrom(...broken) },
          { weight: 1, arbitrary: fc.constantFrom(...long) },
          { weight: 1, arbitrary: fc.uint8Array({ maxLength: 20 }).map(hex) },
        ),
        { maxLength: 4 },
      ),
    },
  ),
  encoding: fc.constantFrom('none', 'none', 'none', 'gzip', 'deflate', 'br'),
  missing: fc.oneof({ weight: 8, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 12 }) }),
  end: fc.oneof({ weight: 3, arbitrary: fc.constantFrom('length', 'chunks', 'close') }, fc.constantFrom(...ends)),
})

/** The bytes of an answer, in the parts in which they are written. */
function answerOf({ parts, encoding, missing, end }: Body): Buffer[] {
  const plain = parts.map((part) => Buffer.from(part, 'hex'))
  const whole = encodings[encoding](Buffer.concat(plain))
  const sent = whole.subarray(0, Math.max(0, whole.length - missing))
  const written =
    encoding === 'none' && missing === 0 ? plain : [sent.subarray(0, sent.length >> 1), sent.subarray(sent.length >> 1)]
  const length = sent.length + (end === 'length too great' ? 3 : end === 'length too small' ? -1 : 0)
  const isChunked = end.startsWith('chunk')
  const isLong = end.startsWith('length') && length >= 0
  const head = [
    'HTTP/1.1 200 OK',
    'connection: close',
    ...(encoding === 'none' ? [] : [`content-encoding: ${encoding}`]),
    ...(isChunked ? ['transfer-encoding: chunked'] : isLong ? [`content-length: ${length}`] : []),
  ]
  const chunk = (bytes: Buffer): Buffer => {
    const size = bytes.length + (end === 'chunk too long' ? 5 : 0)
    return Buffer.concat([Buffer.from(`${size.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
  }
  return [
    Buffer.from(`${head.join('\r\n')}\r\n\r\n`),
    ...(isChunked ? written.filter(({ length: size }) => size > 0).map(chunk) : written),
    ...(end === 'chunks' ? [Buffer.from('0\r\n\r\n')] : []),
  ]
}

/** What must come out of a body that is whole: its value, or a code. Undefined if it is not whole: then any error will do. */
function expectedOf({ parts, missing, end }: Body): { readonly value: unknown } | { readonly code: string } | undefined {
  if (missing > 0 || !['length', 'chunks', 'close'].includes(end)) return undefined
  const bytes = Buffer.concat(parts.map((part) => Buffer.from(part, 'hex')))
  if (bytes.length > mostBytes) return { code: 'OUTPUT_TOO_LONG' }
  if (!isUtf8(bytes)) return { code: 'OUTPUT_INVALID' }
  try {
    return { value: JSON.parse(bytes.toString().replace(/^\uFEFF/, '')) as unknown }
  } catch {
    return { code: 'OUTPUT_INVALID' }
  }
}

export async function openBodies(): Promise<FuzzedWorld> {
  let answer: Body
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).once('close', () => sockets.delete(socket))
    socket.once('data', () => {
      for (const part of answerOf(answer)) socket.write(part)
      if (answer.end === 'cut') socket.resetAndDestroy()
      else socket.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/tasks`
  const ask = httpRequest({ url, headers: { authorization: secret }, responseBytes: mostBytes })

  async function asked(body: Body): Promise<void> {
    answer = body
    const expected = expectedOf(body)
    const outcome = await ask(job as never).then(
      (value: unknown) => ({ value }),
      (error: unknown) => ({ error }),
    )
    if (expected) {
      const code = 'error' in outcome && isTaskError(outcome.error) ? outcome.error.code : undefined
      if (!isDeepStrictEqual('code' in expected ? { code } : outcome, expected))
        throw new Error('Another output came out than went in', { cause: outcome })
    }
    if ('error' in outcome) throw outcome.error
  }
  return {
    calls: [
      {
        name: 'body',
        drawn: fc.tuple(bodies) as never,
        args: (drawn) => drawn,
        call: asked,
        isAsync: true,
        isUnchanged: true,
        codes: ['REQUEST_FAILED', 'OUTPUT_INVALID', 'OUTPUT_TOO_LONG'],
        secrets: [secret],
      },
    ],
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
