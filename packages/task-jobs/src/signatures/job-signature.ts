/** What a signature of a job covers, and the header in which it stands. */
import { hash } from 'node:crypto'
import type { HeldTask, TaskHeaders } from '@taskstream/task-api'
import { topicOf } from '../definitions/define-queue.ts'
import { pushedVersionOf } from '../definitions/task-input.ts'
import type { TaskDefinition } from '../definitions/task-settings.ts'

const header = 'sig'

/** Of what a signature is made. A task that is pushed, and one that is held, say the same. */
export type SignedTask = Pick<HeldTask, 'identifier' | 'externalId' | 'maxTries' | 'headers' | 'input'>

/** A signature, with the name of its key. */
export interface JobSignature {
  readonly key: string
  /** When the job was signed, by the clock of whoever signed it, in ISO 8601. */
  readonly at: string
  /** 64 bytes in base64url. */
  readonly value: string
}

/** Everything that a signature covers. */
export interface SignedFields {
  readonly topic: string
  readonly job: string
  readonly id: string | undefined
  readonly key: string
  readonly maxTries: number | undefined
  /** The version of the input. Undefined if its header is none. */
  readonly version: number | undefined
  readonly at: string
  /** The input as it is stored. */
  readonly input: string | undefined
}

/**
 * The text that is signed. JSON says where each field ends, so no two lists of fields have one text. The first two say that it is of a job, and in which
 * form, so that a signature of something else is none of a job.
 */
export function signedText({ topic, job, id, key, maxTries, version, at, input }: SignedFields): string {
  const inputHash = input === undefined ? null : hash('sha256', input, 'hex')
  return JSON.stringify(['taskstream job', 1, topic, job, id ?? null, key, maxTries ?? null, version ?? null, at, inputHash])
}

/** The text that is signed for a task of a definition. */
export function signedTextOf(definition: TaskDefinition, task: SignedTask, at: string): string {
  return signedText({
    topic: topicOf(definition),
    job: definition.name,
    id: task.externalId,
    key: task.identifier,
    maxTries: task.maxTries,
    version: pushedVersionOf(task),
    at,
    input: task.input,
  })
}

export function signatureHeaders(signature: JobSignature): TaskHeaders {
  return { [header]: { ...signature } }
}

/** @returns undefined if there is none, and null if what stands in its place is no signature */
export function signatureOf({ headers }: Pick<SignedTask, 'headers'>): JobSignature | null | undefined {
  const stored = headers?.[header]
  if (stored === undefined) return undefined
  if (typeof stored !== 'object' || stored === null || Array.isArray(stored)) return null
  const { key, at, value } = stored as Readonly<Record<string, unknown>>
  if (typeof key !== 'string' || typeof at !== 'string' || typeof value !== 'string') return null
  return /^[\w-]{86}$/.test(value) ? { key, at, value } : null
}
