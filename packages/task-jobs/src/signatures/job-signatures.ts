import { sign, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { isTaskError, optionNames, TaskDecision, TaskError, taskToString } from '@taskstream/task-api'
import type { HeldTask, TaskCreation } from '@taskstream/task-api'
import type { HandlerContext } from '@taskstream/task-processor'
import { signatureHeaders, signatureOf, signedTextOf } from './job-signature.ts'
import type { SignedTask } from './job-signature.ts'
import { checkSecretNames, secretInvalid } from '../definitions/secret-options.ts'
import { isPairOf, privateKeyOf, publicKeyOf } from './signature-keys.ts'
import type { SigningKey, VerificationKey } from './signature-keys.ts'
import type { TaskDefinition } from '../definitions/task-settings.ts'
import { uuidV7 } from './uuid-v7.ts'

/** By what a process signs the jobs that it pushes. */
export interface SigningOptions {
  /** A private key of ed25519: PEM, a JWK, a `KeyObject`, or its seed of 32 bytes, in hex or as bytes. No message shows it. */
  readonly key: SigningKey
  /** The name of the key, 1 to 100 characters, by which those who verify find the public key. Default `default`. */
  readonly id?: string
}

/** By what a process verifies the jobs that it handles. */
export interface VerificationOptions {
  /** Public keys of ed25519, by their names: PEM, a JWK, a `KeyObject`, or 32 bytes, in hex or as bytes. At least one. */
  readonly keys: Readonly<Record<string, VerificationKey>>
}

interface SignatureOptions {
  readonly signing?: SigningOptions | undefined
  readonly verification?: VerificationOptions | undefined
}

interface Signer {
  readonly id: string
  readonly key: KeyObject
}

const signingNames = optionNames<SigningOptions>('signing', { key: true, id: true })
const verificationNames = optionNames<VerificationOptions>('verification', { keys: true })

/** Signs the jobs that a process pushes, and verifies those that it handles. Without keys it refuses both, for jobs that are signed. */
export class JobSignatures {
  readonly #signer: Signer | undefined
  readonly #keys: ReadonlyMap<string, KeyObject> | undefined
  readonly #now: () => Date

  /**
   * @param now tells the time that is signed
   * @throws TaskError ARGUMENT_INVALID, without any key
   */
  constructor({ signing, verification }: SignatureOptions = {}, now: () => Date = () => new Date()) {
    this.#signer = signing === undefined ? undefined : signerOf(signing)
    this.#keys = verification === undefined ? undefined : keysOf(verification)
    this.#now = now
    const own = this.#signer && this.#keys?.get(this.#signer.id)
    if (own && !isPairOf(this.#signer!.key, own))
      throw secretInvalid(
        `verification.keys[${JSON.stringify(this.#signer!.id)}]`,
        'must be the public key of signing.key, whose name it has',
      )
  }

  /**
   * Signs a job that is to be pushed, if its definition says so. A job that is signed has an id.
   *
   * @throws TaskError ARGUMENT_INVALID if it must be signed, and there is no key
   */
  signed(definition: TaskDefinition, creation: TaskCreation): TaskCreation {
    const { signed } = definition.settings
    if (signed === undefined) return creation
    if (!this.#signer) {
      if (signed === 'optional') return creation
      throw keyMissing('signing', definition, 'so the stream of a process that pushes it needs a private key')
    }
    const { id, key } = this.#signer
    const now = this.#now()
    const at = now.toISOString()
    const named = { ...creation, externalId: creation.externalId ?? uuidV7(now) }
    const value = sign(null, Buffer.from(signedTextOf(definition, named, at)), key).toString('base64url')
    return { ...named, headers: { ...named.headers, ...signatureHeaders({ key: id, at, value }) } }
  }

  /** Refuses to handle or to check jobs that nobody here could verify. @throws TaskError ARGUMENT_INVALID */
  checkCanVerify(definition: Signable): void {
    if (definition.settings.signed !== undefined && !this.#keys)
      throw keyMissing('verification', definition, 'so the stream of a process that handles or checks it needs public keys')
  }

  /** Refuses a job that was not signed as its definition says. @throws TaskError SIGNATURE_INVALID */
  verify(definition: TaskDefinition, task: SignedTask & Pick<HeldTask, 'topic' | 'sequence' | 'identifier'>): void {
    const { signed } = definition.settings
    if (signed === undefined) return
    const signature = signatureOf(task)
    if (signature === undefined && signed === 'optional') return
    const refused = (why: string): TaskError => signatureInvalid(definition, task, signature?.key, why)
    if (signature === undefined)
      throw refused('has no signature, and must have one: it was not pushed by a process that has a key')
    if (signature === null) throw refused('has a header "sig" that is no signature')
    const key = this.#keys?.get(signature.key)
    if (!key) {
      const known = [...(this.#keys?.keys() ?? [])].map((id) => `"${id}"`).join(', ')
      throw refused(`was signed by the key "${signature.key.slice(0, 100)}", and this process has ${known || 'no key'}`)
    }
    const text = signedTextOf(definition, task, signature.at)
    if (!verify(null, Buffer.from(text), key, Buffer.from(signature.value, 'base64url')))
      throw refused(
        'is not what was signed: it was changed, or copied from another job or queue, or is signed by another key of that name',
      )
  }

  /** Decides of a job that was not signed as its definition says, and reports it. Undefined if nothing is wrong with its signature. */
  refused(
    definition: TaskDefinition,
    task: HeldTask,
    { report }: Pick<HandlerContext<never>, 'report'>,
  ): TaskDecision | undefined {
    try {
      this.verify(definition, task)
      return undefined
    } catch (error) {
      if (!isTaskError(error, 'SIGNATURE_INVALID')) throw error
      // It will not be signed at the next try either. The history keeps a text, so the code stands in it.
      const decision = TaskDecision.failure(`${error.code}: ${error.message}`).because('terminated')
      report(error, new Map([[task, decision]]))
      return decision
    }
  }
}

/** Of a process without keys. */
export const noSignatures: JobSignatures = new JobSignatures()

/** What says whether its jobs are signed: a definition, or a queue. */
interface Signable {
  readonly name: string
  readonly settings: Pick<TaskDefinition['settings'], 'signed'> & { readonly what: string }
}

function signerOf(options: SigningOptions): Signer {
  checkSecretNames(signingNames, options)
  const { id = 'default', key } = options
  checkKeyName('signing.id', id, 'must be a name of 1 to 100 characters for the key')
  return { id, key: privateKeyOf('signing.key', key) }
}

function keysOf(options: VerificationOptions): ReadonlyMap<string, KeyObject> {
  checkSecretNames(verificationNames, options)
  const { keys } = options
  if (typeof keys !== 'object' || keys === null || Array.isArray(keys))
    throw secretInvalid('verification.keys', 'must be an object of public keys by their names')
  const all = Object.entries(keys).map(([id, key]) => {
    checkKeyName('verification.keys', id, 'must have names of 1 to 100 characters for its keys')
    return [id, publicKeyOf(`verification.keys[${JSON.stringify(id)}]`, key)] as const
  })
  if (all.length === 0) throw secretInvalid('verification.keys', 'must have at least one key')
  return new Map(all)
}

/** @throws TaskError ARGUMENT_INVALID, without the name: somebody may have given the key in its place */
function checkKeyName(argument: string, id: unknown, rule: string): asserts id is string {
  if (typeof id !== 'string' || id === '' || id.length > 100 || !id.isWellFormed() || id.includes('\0'))
    throw secretInvalid(argument, rule)
}

function keyMissing(argument: 'signing' | 'verification', { name, settings }: Signable, why: string): TaskError {
  const { what } = settings
  return new TaskError('ARGUMENT_INVALID', `${argument} must be given: the ${what} "${name}" is signed, ${why}`, {
    argument,
    [what]: name,
  })
}

function signatureInvalid(
  definition: TaskDefinition,
  task: Pick<HeldTask, 'topic' | 'sequence' | 'identifier'>,
  key: string | undefined,
  why: string,
): TaskError {
  return new TaskError('SIGNATURE_INVALID', `The job "${definition.name}", ${taskToString(task)}, ${why}`, {
    job: definition.name,
    task: { topic: task.topic, sequence: task.sequence, identifier: task.identifier },
    ...(key !== undefined && { key }),
  })
}
