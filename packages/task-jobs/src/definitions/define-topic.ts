import { checkGiven, checkTopic, invalid, optionNames, pollConditions, taskRecords } from '@taskstream/task-api'
import type { InputSchema, TopicOptions } from '@taskstream/task-api'
import type { RetryPolicy } from '@taskstream/task-processor'
import type { JsonOnly } from './json-only.ts'
import { checkShared } from './shared-order.ts'
import { taskSettingsOf } from './task-settings.ts'
import type { JobTags, TaskSettings } from './task-settings.ts'

/**
 * The definition of a topic: its name, the type of its inputs, and how its tasks are tried. It is a value without any connection, so a module can share
 * it between programs that push and programs that process.
 */
export interface Topic<Name extends string = string, Given = unknown, Input = Given> {
  readonly name: Name
  readonly settings: TopicSettings
  /** Types only; never set. */
  readonly '~types'?: { readonly given: (given: Given) => void; readonly input: Input }
}

/** A topic of any type. */
export type AnyTopic = Topic<string, never, unknown>

export interface TypedTopicOptions<Given, Input> extends TopicOptions {
  /** The schema of the inputs: zod, valibot, arktype, any Standard Schema, `json<T>()`, or `versioned(…)`. */
  readonly input: InputSchema<Input, Given>
  /** What a task is about, 1 to 500 characters, such as its customer: its identifier. Without it, a push may give the key of each task. */
  readonly key?: (input: NoInfer<Given>) => string
  /** Whether tasks are found and superseded by their keys. Default: true if there is a `key` or a `condition`, or if keys take turns. */
  readonly keyed?: boolean
  /** The caller's own name for a task, 1 to 500 characters, unique in the topic. A second push of an id finds the first task. */
  readonly id?: (input: NoInfer<Given>) => string
  /** When a task is tried again whose batch threw. Default: four tries, after pauses of about 5, 10 and 20 seconds. */
  readonly retry?: RetryPolicy
  /** How many tries a task has, 1 to 32 767, whatever `retry` says. */
  readonly maxTries?: number
  /** After how many milliseconds a task that has not started is filtered, with the reason `deadline`. Default: never. */
  readonly deadlineMs?: number
  /** The priority of pushes that give none, -32 767 to 32 767. It counts in the order `priority`. */
  readonly priority?: number
  readonly tags?: JobTags
}

/** The checked options of a topic, without their types. */
export interface TopicSettings extends TaskSettings {
  readonly what: 'topic'
  readonly input: InputSchema<unknown>
}

const names = optionNames<TypedTopicOptions<unknown, unknown>>('defineTopic', {
  input: true,
  key: true,
  keyed: true,
  id: true,
  order: true,
  condition: true,
  record: true,
  retry: true,
  maxTries: true,
  deadlineMs: true,
  priority: true,
  tags: true,
})

/**
 * Defines a topic whose tasks have inputs of one type.
 *
 * @param name 1 to 250 characters
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const prices = defineTopic('prices', { input: z.object({ symbol: z.string(), price: z.number() }), key: ({ symbol }) => symbol })
 */
export function defineTopic<const Name extends string, Given, Input>(
  name: Name,
  options: TypedTopicOptions<Given, Input> & JsonOnly<Given>,
): Topic<Name, Given, Input> {
  checkTopic(name)
  return Object.freeze({ name, settings: Object.freeze(settingsOf(options as TypedTopicOptions<never, unknown>)) })
}

function settingsOf(options: TypedTopicOptions<never, unknown>): TopicSettings {
  checkGiven(names, options)
  const { order, input, ...settings } = taskSettingsOf(options as Parameters<typeof taskSettingsOf>[0])
  if (input === undefined) throw invalid('input', input, 'must be given: a schema, or json<T>()')
  const { condition = 'none', record = 'states' } = options
  if (!pollConditions.includes(condition)) throw invalid('condition', condition, `must be one of ${pollConditions.join(', ')}`)
  if (!taskRecords.includes(record)) throw invalid('record', record, `must be one of ${taskRecords.join(', ')}`)
  const { keyed = (settings.key !== undefined && record === 'states') || condition !== 'none' || order === 'shared' } = options
  if (typeof keyed !== 'boolean') throw invalid('keyed', keyed, 'must be true or false')
  if (!keyed && condition !== 'none') throw invalid('keyed', keyed, `must not be given with the condition "${condition}"`)
  if (order === 'shared') checkShared('of the topic', { keyed, condition: condition !== 'none' })
  return { ...settings, what: 'topic', input, topic: { order, condition, keyed, record } }
}
