/** Makes a task of a job that waits elsewhere. */
import { invalid, taskLimits } from '@taskstream/task-api'
import type { TaskCreation } from '@taskstream/task-api'
import { CommandError } from '../core/exit-codes.ts'
import type { LibraryName, OriginRequest } from './origin.ts'

/** A job in the terms of tasks. */
export interface WaitingJob {
  /** A name that no other job of the origin has, or has had: a second push of it creates nothing. */
  readonly externalId: string
  readonly name: string
  /** The payload as JSON. */
  readonly input: string | undefined
  /** The fields that can become the identifier. */
  readonly fields: Readonly<Record<string, string | null | undefined>>
  readonly dueMs?: number | undefined
  readonly deadlineMs?: number | undefined
  /** A higher priority comes sooner. */
  readonly priority: number
  /** How many tries are left, the next one included. */
  readonly triesLeft: number
  readonly timeoutMs?: number | undefined
}

/** Which fields of a job can become the identifier, beside those of its payload. The first is the default. */
export const keyFields: Readonly<Record<LibraryName, readonly [string, ...string[]]>> = {
  'pg-boss': ['singleton-key', 'group'],
  'graphile-worker': ['job-key', 'queue-name'],
  bullmq: ['deduplication'],
}

const inPayload = 'input.'

/** @throws CommandError usage, unless jobs of the origin have this field */
export function checkKey(origin: LibraryName, key: string | undefined): void {
  const fields = keyFields[origin]
  if (key === undefined || fields.includes(key) || (key.startsWith(inPayload) && key.length > inPayload.length)) return
  throw new CommandError('usage', `--key ${key}: for ${origin} it is ${fields.join(', ')}, or ${inPayload}<field> of the payload`)
}

/** The text that becomes the identifier. Undefined for a job that has none. */
export function keyOf(job: Pick<WaitingJob, 'fields' | 'input'>, key: string): string | undefined {
  const found = key.startsWith(inPayload) ? fieldOf(job.input, key.slice(inPayload.length)) : job.fields[key]
  return found === null || found === '' ? undefined : found
}

function fieldOf(input: string | undefined, field: string): string | undefined {
  const payload: unknown = input === undefined ? undefined : JSON.parse(input)
  if (typeof payload !== 'object' || payload === null || !Object.hasOwn(payload, field)) return undefined
  const value = (payload as Readonly<Record<string, unknown>>)[field]
  // No identifier has the character NUL, which PostgreSQL cannot store.
  return (typeof value === 'string' && !value.includes('\0')) || typeof value === 'number' ? String(value) : undefined
}

export const mostPriority = 32_767
export const leastPriority: number = -mostPriority
const mostTries = 32_767
/** The longest time of a try that a job can have. */
export const longestTimeoutMs = 86_400_000

/**
 * The task of a job. A job without a key is its own identifier, so that it never waits for others in a topic with a condition.
 *
 * @throws TaskError ARGUMENT_INVALID if its key is too long to be an identifier
 */
export function toCreation(job: WaitingJob, key: string, { names }: Pick<OriginRequest, 'names'>): TaskCreation {
  const { externalId, input, dueMs, deadlineMs, timeoutMs } = job
  const identifier = keyOf(job, key) ?? externalId
  if (identifier.length > taskLimits.identifierLength)
    throw invalid(
      '--key',
      key,
      `must be a field of at most ${taskLimits.identifierLength} characters, which it is not in ${externalId}`,
    )
  // These are the headers that a push of a job writes.
  const headers = {
    ...(names && { job: job.name }),
    ...(timeoutMs !== undefined && timeoutMs <= longestTimeoutMs && { timeoutMs }),
  }
  return {
    identifier,
    externalId,
    priority: Math.max(leastPriority, Math.min(mostPriority, job.priority)),
    maxTries: Math.max(1, Math.min(mostTries, job.triesLeft)),
    ...(input !== undefined && { input }),
    ...(dueMs !== undefined && { due: new Date(dueMs) }),
    ...(deadlineMs !== undefined && { deadline: new Date(deadlineMs) }),
    ...(Object.keys(headers).length > 0 && { headers }),
  }
}
