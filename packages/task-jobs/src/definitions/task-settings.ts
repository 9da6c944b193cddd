import { checkDuration, checkInteger, invalid, pollOrders, taskLimits } from '@taskstream/task-api'
import type { InputSchema, PollOrder, TopicOptions } from '@taskstream/task-api'
import { exponential } from '@taskstream/task-processor'
import type { RetryPolicy } from '@taskstream/task-processor'
import type { Queue } from './define-queue.ts'
import type { Need } from './needs.ts'
import type { SubKeys } from './sub-keys.ts'

/** Small facts about a job or a task, for people and filters. */
export type JobTags = Readonly<Record<string, string | number | boolean>>

/** Whether jobs are signed: `required` refuses those without a signature, `optional` only those whose signature is wrong. */
export type Signed = (typeof signedKinds)[number]
const signedKinds = ['required', 'optional'] as const

/** The checked options that the definitions of jobs and of topics share, without their types. */
export interface TaskSettings {
  /** What is defined, for messages. */
  readonly what: 'job' | 'topic'
  readonly input: InputSchema<unknown> | undefined
  readonly key: ((input: never) => string) | undefined
  readonly id: ((input: never) => string) | undefined
  readonly retry: RetryPolicy
  readonly maxTries: number | undefined
  readonly deadlineMs: number | undefined
  readonly priority: number | undefined
  readonly tags: JobTags | undefined
  /** The jobs that one of this definition needs, by name. */
  readonly needs?: ReadonlyMap<string, Need> | undefined
  /** How the topic of the tasks is initialized. */
  readonly topic: TopicOptions
  /** Whether these tasks are signed. Undefined if they are not. */
  readonly signed?: Signed | undefined
  /** The queue that these tasks share with others. Undefined for those with a topic of their own. */
  readonly queue?: Queue | undefined
  /** Makes identifiers of keys. Without it, the identifier of a task is its key. */
  readonly subKeys?: SubKeys | undefined
}

/** A definition: what tasks are pushed by, and found by. */
export interface TaskDefinition {
  readonly name: string
  readonly settings: TaskSettings
}

type NotShared = 'what' | 'topic' | 'queue' | 'needs' | 'signed' | 'subKeys'

/** The options that the definitions of jobs and of topics share. */
interface SharedOptions extends Partial<Omit<TaskSettings, NotShared>> {
  readonly order?: PollOrder
}

const defaultRetry = exponential({ tries: 4, firstMs: 5_000 })

/** @throws TaskError ARGUMENT_INVALID if an option that both kinds of definitions have is not as it must be */
export function taskSettingsOf(options: SharedOptions): Omit<TaskSettings, NotShared> & { readonly order: PollOrder } {
  const { input, key, id, order = 'fifo', retry = defaultRetry, maxTries, deadlineMs, priority, tags } = options
  checkSchema('input', input)
  for (const [argument, value] of Object.entries({ key, id }))
    if (value !== undefined && typeof value !== 'function') throw invalid(argument, value, 'must be a function of the input')
  if (!pollOrders.includes(order)) throw invalid('order', order, `must be one of ${pollOrders.join(', ')}`)
  if (typeof retry !== 'function') throw invalid('retry', retry, 'must be a policy, such as exponential({ … })')
  if (maxTries !== undefined) checkInteger('maxTries', maxTries, 1, taskLimits.tries)
  if (deadlineMs !== undefined) checkDuration('deadlineMs', deadlineMs)
  if (priority !== undefined) checkInteger('priority', priority, -taskLimits.priority, taskLimits.priority)
  if (tags !== undefined) checkTags(tags)
  return { input, key, id, order, retry, maxTries, deadlineMs, priority, tags }
}

/** @throws TaskError ARGUMENT_INVALID unless a schema is one, or is not given */
export function checkSchema(argument: string, schema: Partial<InputSchema<unknown>> | undefined): void {
  if (schema !== undefined && typeof schema?.['~standard']?.validate !== 'function')
    throw invalid(argument, schema, 'must be a Standard Schema, such as one of zod, or json<T>()')
}

/** @throws TaskError ARGUMENT_INVALID unless `signed` says how jobs are signed, or is not given */
export function checkSigned(signed: Signed | undefined): void {
  if (signed !== undefined && !signedKinds.includes(signed))
    throw invalid('signed', signed, `must be one of ${signedKinds.join(', ')}`)
}

/** @throws TaskError ARGUMENT_INVALID unless tags are what their type says, so that a handler is given what was pushed */
export function checkTags(tags: JobTags): void {
  if (typeof tags !== 'object' || tags === null || Array.isArray(tags)) throw invalid('tags', tags, 'must be an object')
  for (const [name, value] of Object.entries(tags))
    if (value !== undefined && !isTag(value))
      throw invalid(`tags.${name}`, value, 'must be a string, a finite number or a boolean')
}

export function isTag(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
}
