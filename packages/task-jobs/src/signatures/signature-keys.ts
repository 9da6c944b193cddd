/** Keys of ed25519 in the forms in which people keep them. No error shows a key, and none has one as its cause. */
import { createPrivateKey, createPublicKey, KeyObject } from 'node:crypto'
import type { JsonWebKeyInput } from 'node:crypto'
import { secretInvalid } from '../definitions/secret-options.ts'

/** Its name and place differ between the releases of Node's types. */
type JsonWebKey = JsonWebKeyInput['key']

/** A private key of ed25519: PEM, a JWK, a `KeyObject`, or its seed of 32 bytes, in hex or as bytes. */
export type SigningKey = string | JsonWebKey | KeyObject | Uint8Array

/** A public key of ed25519: PEM, a JWK, a `KeyObject`, or its 32 bytes, in hex or as bytes. */
export type VerificationKey = string | JsonWebKey | KeyObject | Uint8Array

/** What stands before the 32 bytes of a key in DER. */
const beforeSeed = Buffer.from('302e020100300506032b657004220420', 'hex')
const beforePublic = Buffer.from('302a300506032b6570032100', 'hex')

/** The y coordinates of the points of small order, as some libraries take signatures by them that anybody can make. */
const weakPoints: ReadonlySet<string> = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
])

/** @throws TaskError ARGUMENT_INVALID, without the key */
export function privateKeyOf(argument: string, given: unknown): KeyObject {
  const rule = 'must be a private key of ed25519: PEM, a JWK, a KeyObject, or the seed of 32 bytes in hex or as bytes'
  const key = made(given, (form) => {
    if (form instanceof KeyObject) return form
    if (form instanceof Uint8Array)
      return createPrivateKey({ key: Buffer.concat([beforeSeed, form]), format: 'der', type: 'pkcs8' })
    return typeof form === 'string' ? createPrivateKey(form) : createPrivateKey({ key: form, format: 'jwk' })
  })
  if (key?.type !== 'private' || key.asymmetricKeyType !== 'ed25519') throw secretInvalid(argument, rule)
  return key
}

/** @throws TaskError ARGUMENT_INVALID, without the key; also for a private key, which is not needed to verify */
export function publicKeyOf(argument: string, given: unknown): KeyObject {
  const rule = 'must be a public key of ed25519: PEM, a JWK, a KeyObject, or its 32 bytes in hex or as bytes'
  if (isPrivate(given)) throw secretInvalid(argument, `${rule}. It is a private one, which only those who push should have`)
  const key = made(given, (form) => {
    if (form instanceof KeyObject) return form
    if (form instanceof Uint8Array)
      return createPublicKey({ key: Buffer.concat([beforePublic, form]), format: 'der', type: 'spki' })
    return typeof form === 'string' ? createPublicKey(form) : createPublicKey({ key: form, format: 'jwk' })
  })
  if (key?.type !== 'public' || key.asymmetricKeyType !== 'ed25519') throw secretInvalid(argument, rule)
  const point = Buffer.from(bytesOf(key))
  // The highest bit is the sign of x.
  point[31]! &= 0x7f
  if (weakPoints.has(point.toString('hex')))
    throw secretInvalid(argument, 'must not be a key by which anybody can sign, such as one of zeros')
  return key
}

/** Whether a public key is that of a private one. */
export function isPairOf(privateKey: KeyObject, publicKey: KeyObject): boolean {
  return bytesOf(createPublicKey(privateKey)).equals(bytesOf(publicKey))
}

function bytesOf(publicKey: KeyObject): Buffer {
  return publicKey.export({ format: 'der', type: 'spki' }).subarray(beforePublic.length)
}

/** @returns undefined for what is no key: the error of the library may quote it */
function made(given: unknown, make: (form: KeyObject | Uint8Array | string | JsonWebKey) => KeyObject): KeyObject | undefined {
  try {
    return make(formOf(given))
  } catch {
    return undefined
  }
}

/** Texts in hex become bytes, and the bytes of a file become its text. */
function formOf(given: unknown): KeyObject | Uint8Array | string | JsonWebKey {
  if (given instanceof KeyObject) return given
  if (given instanceof Uint8Array) return given.length === 32 ? given : formOf(Buffer.from(given).toString())
  if (typeof given !== 'string') return given as JsonWebKey
  const text = given.trim()
  return /^[\da-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : text
}

/** A public key can be made of a private one, so each form says for itself what it is. */
function isPrivate(given: unknown): boolean {
  const form = formOf(given)
  if (typeof form === 'string') return form.includes('PRIVATE KEY')
  if (form instanceof KeyObject) return form.type !== 'public'
  return typeof form === 'object' && form !== null && 'd' in form
}
