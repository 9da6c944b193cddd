/** Signatures of jobs without a database: what they cover, which keys are taken, and that no key is shown. */
import { generateKeyPairSync } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { inspect } from 'node:util'
import type { HeldTask, TaskCreation } from '@taskstream/task-api'
import fc from 'fast-check'
import { defineJob, defineQueue, json } from 'taskstream'
import type { SigningKey, TaskError, VerificationKey } from 'taskstream'
import { taskstream } from 'taskstream/node-sqlite'
import { testStream } from 'taskstream/testing'
import { describe, expect, test } from 'vitest'
import { signedText } from '../../packages/task-jobs/src/signatures/job-signature.ts'
import type { SignedFields } from '../../packages/task-jobs/src/signatures/job-signature.ts'
import { JobSignatures } from '../../packages/task-jobs/src/signatures/job-signatures.ts'
import { creationOf } from '../../packages/task-jobs/src/jobs/push-job.ts'
import { uuidV7 } from '../../packages/task-jobs/src/signatures/uuid-v7.ts'

/** The first pair of RFC 8032. */
const seed = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'
const point = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'
const pair = generateKeyPairSync('ed25519')
const now = (): Date => new Date('2026-11-23T12:00:00.000Z')

const mail = defineQueue('mail', { keyed: true, signed: 'required' })
const welcome = defineJob('email:welcome', { queue: mail, input: json<{ to: string }>(), key: ({ to }) => to, maxTries: 5 })
const bare = defineJob('bare', { signed: 'required' })

function heldOf(topic: string, creation: TaskCreation): HeldTask {
  return { topic, sequence: 7, tries: 1, attempt: 1, priority: 0, ...creation } as unknown as HeldTask
}

const thrown = (work: () => unknown): TaskError => {
  try {
    work()
  } catch (error) {
    return error as TaskError
  }
  throw new Error('nothing was thrown')
}

describe('a signature', () => {
  const fields: fc.Arbitrary<SignedFields> = fc.record({
    topic: text(),
    job: text(),
    id: fc.option(text(), { nil: undefined }),
    key: text(),
    maxTries: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
    version: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
    at: text(),
    input: fc.option(text(), { nil: undefined }),
  })

  /** Short texts of what could end a field, so that two lists of fields are often nearly the same. */
  function text(): fc.Arbitrary<string> {
    return fc.string({ unit: fc.constantFrom('"', ',', '\\', 'n', 'u', '0', '1', '[', ']', ':', '\uD800', 'é'), maxLength: 4 })
  }

  test('is of one list of fields alone, whatever stands in them', () => {
    fc.assert(
      fc.property(fields, fields, (one, other) => {
        expect(signedText(one) === signedText(other)).toBe(inspect(one) === inspect(other))
      }),
    )
    // A part of one field stands in the next.
    fc.assert(
      fc.property(fields, text(), (one, part) => {
        fc.pre(part !== '')
        expect(signedText({ ...one, topic: one.topic + part })).not.toBe(signedText({ ...one, job: part + one.job }))
        expect(signedText({ ...one, id: undefined })).not.toBe(signedText({ ...one, id: 'null' }))
      }),
    )
  })

  // OpenSSL's own command has made these two of their texts.
  test('is the same in every release: of this text, with this key', () => {
    const signatures = new JobSignatures({ signing: { key: seed, id: '2026' } }, now)
    const input = { to: 'ann "é"' }
    const creation = creationOf(welcome, input, { id: 'order 7', priority: 3, tags: { kind: 'new' }, deadlineMs: 5 }, signatures)
    const covered = { topic: 'mail', job: 'email:welcome', id: 'order 7', key: 'ann "é"', maxTries: 5, version: 1 }
    expect(signedText({ ...covered, at: now().toISOString(), input: creation.input })).toBe(
      String.raw`["taskstream job",1,"mail","email:welcome","order 7","ann \"é\"",5,1,"2026-11-23T12:00:00.000Z","2dc25ec11bddb38f41ce4777164ee87cb00b4419f36abad685c139efcf677585"]`,
    )
    expect(creation).toMatchObject({
      externalId: 'order 7',
      headers: {
        job: 'email:welcome',
        tags: { kind: 'new' },
        sig: {
          key: '2026',
          at: '2026-11-23T12:00:00.000Z',
          value: 'mQhIKtzcS5wbz_x1mID5i4r1xiVKMAxUoOjiaPSlHZ4IJevnmwQajh0woxpNY_ghT0jMfVA3el8Q9FHEIBiQBQ',
        },
      },
    })
    expect(creationOf(bare, undefined, { id: 'a' }, signatures).headers).toEqual({
      sig: {
        key: '2026',
        at: '2026-11-23T12:00:00.000Z',
        value: 'GNsiSzG0kR4EhUlxZQkVBhvGcLYUyMeIwzN75Ki3-w80Mm_8ivwoPtvRtkXkEGGHH0jI-bP22z5gntFMfV8RBg',
      },
    })
    const verifying = new JobSignatures({ verification: { keys: { '2026': point } } })
    verifying.verify(welcome, heldOf('mail', creation))
  })

  test('is of a job with an id: the first bits of one that is made are the time', () => {
    const signatures = new JobSignatures({ signing: { key: seed } }, now)
    const { externalId } = creationOf(bare, undefined, {}, signatures)
    expect(externalId).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
    expect(externalId!.replaceAll('-', '').slice(0, 12)).toBe(now().getTime().toString(16).padStart(12, '0'))
    expect(uuidV7(new Date(1)) < uuidV7(new Date(2))).toBe(true)
    expect(new Set(Array.from({ length: 100 }, () => uuidV7(now()))).size).toBe(100)
  })

  test('is asked of those jobs alone whose definition says so, and of one that says optional if there is one', () => {
    const without = new JobSignatures()
    const both = new JobSignatures({ signing: { key: seed }, verification: { keys: { default: point } } })
    const plain = defineJob('plain')
    const optional = defineJob('optional', { signed: 'optional' })
    expect(creationOf(plain, undefined, {}, both)).toEqual({ identifier: 'plain' })
    expect(creationOf(optional, undefined, {}, without)).toEqual({ identifier: 'optional' })
    without.verify(plain, heldOf('plain', { identifier: 'plain' }))
    both.verify(optional, heldOf('optional', { identifier: 'optional' }))
    const signed = creationOf(optional, undefined, {}, both)
    both.verify(optional, heldOf('optional', signed))
    for (const refusing of [without, new JobSignatures({ verification: { keys: { default: pair.publicKey } } })])
      expect(thrown(() => refusing.verify(optional, heldOf('optional', signed))).code).toBe('SIGNATURE_INVALID')
    expect(thrown(() => without.verify(bare, heldOf('bare', { identifier: 'bare' })))).toMatchObject({
      code: 'SIGNATURE_INVALID',
      message: 'The job "bare", bare/bare@7, has no signature, and must have one: it was not pushed by a process that has a key',
      data: { job: 'bare', task: { topic: 'bare', sequence: 7, identifier: 'bare' } },
    })
    expect(thrown(() => creationOf(bare, undefined))).toMatchObject({
      code: 'ARGUMENT_INVALID',
      message: 'signing must be given: the job "bare" is signed, so the stream of a process that pushes it needs a private key',
      data: { argument: 'signing', job: 'bare' },
    })
  })

  test.each([
    ['a text', 'abc'],
    ['nothing', null],
    ['a list', ['default', 'now', 'x'.repeat(86)]],
    ['without a key', { at: 'now', value: 'x'.repeat(86) }],
    ['without a time', { key: 'default', value: 'x'.repeat(86) }],
    ['too short', { key: 'default', at: 'now', value: 'x'.repeat(85) }],
    ['in base64', { key: 'default', at: 'now', value: `+${'x'.repeat(85)}` }],
  ])('that is none is refused: %s', (_, sig) => {
    const signatures = new JobSignatures({ verification: { keys: { default: point } } })
    for (const signed of ['required', 'optional'] as const) {
      const job = defineJob('bare', { signed })
      const error = thrown(() => signatures.verify(job, heldOf('bare', { identifier: 'bare', headers: { sig } })))
      expect([error.code, error.message]).toEqual([
        'SIGNATURE_INVALID',
        expect.stringContaining('header "sig" that is no signature'),
      ])
    }
  })
})

describe('a key', () => {
  const privateKeys: [form: string, key: SigningKey][] = [
    ['PEM', pair.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string],
    ['the bytes of a PEM file', Buffer.from(pair.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string)],
    ['a JWK', pair.privateKey.export({ format: 'jwk' })],
    ['a KeyObject', pair.privateKey],
    ['a seed in hex', seedOf()],
    ['a line of hex', `${seedOf().toUpperCase()}\n`],
    ['a seed of 32 bytes', Uint8Array.from(Buffer.from(seedOf(), 'hex'))],
  ]
  const publicKeys: [form: string, key: VerificationKey][] = [
    ['PEM', pair.publicKey.export({ format: 'pem', type: 'spki' }) as string],
    ['a JWK', pair.publicKey.export({ format: 'jwk' })],
    ['a KeyObject', pair.publicKey],
    ['hex', pointOf()],
    ['32 bytes', Buffer.from(pointOf(), 'hex')],
  ]

  function seedOf(): string {
    return Buffer.from(pair.privateKey.export({ format: 'jwk' }).d!, 'base64url').toString('hex')
  }

  function pointOf(): string {
    return Buffer.from(pair.publicKey.export({ format: 'jwk' }).x!, 'base64url').toString('hex')
  }

  test.each(privateKeys)('signs that is given as %s', (_, key) => {
    const signing = new JobSignatures({ signing: { key } })
    const creation = creationOf(bare, undefined, {}, signing)
    new JobSignatures({ verification: { keys: { default: pair.publicKey } } }).verify(bare, heldOf('bare', creation))
  })

  test.each(publicKeys)('verifies that is given as %s', (_, key) => {
    const creation = creationOf(bare, undefined, {}, new JobSignatures({ signing: { key: pair.privateKey } }))
    new JobSignatures({ verification: { keys: { default: key } } }).verify(bare, heldOf('bare', creation))
  })

  const rsa = generateKeyPairSync('rsa', { modulusLength: 1_024 })
  const elsewhere = generateKeyPairSync('x25519')
  test.each<[what: string, options: object, message: RegExp]>([
    ['of RSA', { signing: { key: rsa.privateKey } }, /^signing\.key must be a private key of ed25519/],
    [
      'of x25519',
      { verification: { keys: { a: elsewhere.publicKey } } },
      /^verification\.keys\["a"\] must be a public key of ed25519/,
    ],
    ['that is public, to sign', { signing: { key: pair.publicKey } }, /^signing\.key must be a private key/],
    ['that is missing', { signing: {} }, /^signing\.key must be a private key/],
    ['of 31 bytes', { signing: { key: Buffer.alloc(31, 1) } }, /^signing\.key must be a private key/],
    ['that is half there', { signing: { key: seed.slice(1) } }, /^signing\.key must be a private key/],
    ...privateKeys.slice(0, 4).map(([form, key]): [string, object, RegExp] => {
      return [`that is private, to verify: ${form}`, { verification: { keys: { a: key } } }, /It is a private one, which only/]
    }),
    [
      'of zeros',
      { verification: { keys: { a: '0'.repeat(64) } } },
      /^verification\.keys\["a"\] must not be a key by which anybody/,
    ],
    ['of small order', { verification: { keys: { a: `01${'0'.repeat(60)}80` } } }, /must not be a key by which anybody can sign/],
    [
      'of another pair',
      { signing: { key: seed }, verification: { keys: { default: pair.publicKey } } },
      /public key of signing\.key/,
    ],
    ['without a name', { verification: { keys: { '': point } } }, /^verification\.keys must have names/],
    [
      'whose name is too long',
      { signing: { key: seed, id: 'x'.repeat(101) } },
      /^signing\.id must be a name of 1 to 100 characters/,
    ],
    ['in a list', { verification: { keys: [point] } }, /^verification\.keys must be an object/],
    ['of none', { verification: { keys: {} } }, /^verification\.keys must have at least one key/],
    ['without its options', { signing: seed }, /^options of signing must be an object/],
    ['by another name', { signing: { key: seed, kid: seed } }, /^kid is no option of signing/],
    ['in place of its keys', { verification: { key: seed } }, /^key is no option of verification: did you mean keys\?/],
  ])('is refused %s', (_, options, message) => {
    const error = thrown(() => new JobSignatures(options))
    expect([error.code, error.message]).toEqual(['ARGUMENT_INVALID', expect.stringMatching(message)])
  })

  test('is refused when the stream is made, and stands in no error and in no stream that is printed', async () => {
    const pem = pair.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string
    const { d } = pair.privateKey.export({ format: 'jwk' })
    const secrets = [seed, seedOf(), pem.split('\n')[1]!, d!]
    const database = new DatabaseSync(':memory:')
    const wrong = [
      { signing: { key: seed.slice(1) } },
      { signing: { key: `${pem.slice(0, 60)}?${pem.slice(60)}` } },
      { signing: { key: { kty: 'OKP', crv: 'X25519', x: d, d } } },
      { signing: { key: { kty: 'OKP', crv: 'Ed25519', x: 1, d: { d } } } },
      { signing: { key: seed, id: pem } },
      { signing: { key: seed, id: { pem } } },
      { signing: { kee: seed } },
      { signing: seed },
      { signin: { key: seed } },
      { verification: seed },
      { verification: { keys: seed } },
      { verification: { keys: { a: pem } } },
      { verification: { keys: { [pem]: point } } },
      { verification: { keys: { a: { kty: 'OKP', crv: 'Ed25519', x: point, d } } } },
      { signing: { key: seed }, verification: { keys: { default: pointOf() } } },
    ]
    for (const options of wrong) {
      const error = thrown(() => taskstream(database, options as never))
      expect(error).toMatchObject({ code: 'ARGUMENT_INVALID' })
      const printed = inspect(error, { depth: 20, showHidden: true }) + JSON.stringify(error)
      for (const secret of secrets) expect(printed).not.toContain(secret.slice(1))
    }
    for (const key of [seed, pem, { kty: 'OKP', crv: 'Ed25519', x: d!, d: d! }, Buffer.from(seed, 'hex')]) {
      await using stream = taskstream(database, { signing: { key } })
      const printed = inspect(stream, { depth: 20, showHidden: true }) + JSON.stringify(stream)
      for (const secret of [...secrets, Buffer.from(seed, 'hex').toString('latin1'), '9d, 61'])
        expect(printed).not.toContain(secret)
    }
  })
})

describe('the definition of what is signed', () => {
  test('says how, and in a queue it is that of the queue', () => {
    expect(thrown(() => defineJob('a', { signed: true as never })).message).toBe('signed must be one of required, optional: true')
    expect(thrown(() => defineQueue('q', { signed: 'always' as never })).message).toContain(
      'signed must be one of required, optional',
    )
    expect(defineJob('b', { queue: mail, key: () => 'b', signed: 'required' }).settings.signed).toBe('required')
    expect(welcome.settings.signed).toBe('required')
    expect(thrown(() => defineJob('b', { queue: mail, key: () => 'b', signed: 'optional' })).message).toBe(
      'signed of the job "b" is up to its queue "mail", where it is "required": "optional"',
    )
    expect(thrown(() => defineJob('b', { queue: defineQueue('q'), signed: 'required' })).message).toContain(
      'where it is not given',
    )
  })

  test('takes no dead letters, as their copies are not signed', () => {
    for (const signed of ['required', 'optional'] as const)
      expect(thrown(() => defineQueue('q', { limits: { deadLetter: defineQueue('dead', { signed }) } }))).toMatchObject({
        code: 'ARGUMENT_INVALID',
        message: expect.stringContaining('deadLetter must not be a queue that is signed'),
      })
    expect(defineQueue('q', { signed: 'required', limits: { deadLetter: defineQueue('dead') } }).settings.signed).toBe('required')
  })

  test('has no timer if a signature is required, as nobody vouches for the row of a timer', () => {
    for (const options of [{ signed: 'required' }, { queue: defineQueue('q', { signed: 'required' }) }] as const)
      expect(thrown(() => defineJob('nightly', { ...options, timer: '03:00 UTC' }))).toMatchObject({
        code: 'ARGUMENT_INVALID',
        message: expect.stringContaining('must not be given for the job "nightly", which must be signed: a scheduler pushes'),
      })
    expect(defineJob('nightly', { signed: 'optional', timer: '03:00 UTC' }).settings.signed).toBe('optional')
  })
})

test('a test stream signs and verifies with a key of its own', async () => {
  await using stream = await testStream()
  stream.handle(welcome, () => {})
  await stream.submit(welcome, { to: 'ann' })
  await stream.transaction((tx) => stream.tasks.push(tx, 'mail', { identifier: 'eve', headers: { job: 'email:welcome' } }))
  expect(await stream.drain()).toMatchObject([
    { job: 'email:welcome', state: 'succeeded' },
    { job: 'email:welcome', state: 'failed', output: expect.stringContaining('SIGNATURE_INVALID: The job "email:welcome"') },
  ])
})
