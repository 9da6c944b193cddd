import {
  checkDuration,
  checkInteger,
  checkNames,
  checkTopic,
  invalid,
  optionNames,
  pollOrders,
  taskLimits,
} from '@taskstream/task-api'
import type { InputSchema, PollOrder, TopicOptions } from '@taskstream/task-api'
import { exponential } from '@taskstream/task-processor'
import type { RetryPolicy } from '@taskstream/task-processor'
import { parseTimer } from '@taskstream/task-timers'
import type { Timer } from '@taskstream/task-timers'
import type { JsonOnly } from './json-only.ts'

/** Small facts about a job, for people and filters. */
export type JobTags = Readonly<Record<string, string | number | boolean>>

/**
 * The definition of a job: its name, the types of its input, and how it is tried. It is a value without any connection, so a module can share it
 * between programs that push and programs that handle.
 */
export interface Job<Name extends string = string, Given = void, Input = Given, Next extends string = never> {
  readonly name: Name
  readonly settings: JobSettings
  /** Types only; never set. */
  readonly '~types'?: { readonly given: (given: Given) => void; readonly input: Input; readonly next: Next }
}

/** A job of any type. */
export type AnyJob = Job<string, never, unknown, string>

export interface JobOptions<Given, Input, Next extends AnyJob> {
  /** The schema of the input: zod, valibot, arktype, any Standard Schema, or `json<T>()`. Without a schema the job has no input. */
  readonly input?: InputSchema<Input, Given>
  /** What a job is about, 1 to 500 characters, such as its customer. The topic becomes keyed: jobs are found and superseded by their key. */
  readonly key?: (input: NoInfer<Given>) => string
  /** Whether the jobs of a key run one after the other, in the order of their pushes. Default false. Needs `key`. */
  readonly ordered?: boolean
  /** The caller's own name for a job, 1 to 500 characters, unique among the jobs of this definition. A second push of an id finds the first job. */
  readonly id?: (input: NoInfer<Given>) => string
  /** In which order ready jobs start. Default `fifo`. */
  readonly order?: PollOrder
  /** The jobs with which this job may go on. Two definitions that lead to each other give a function, and one of them writes its type `Job`. */
  readonly next?: readonly Next[] | (() => readonly Next[])
  /** When a job whose handler threw is tried again. Default: four tries, after pauses of about 5, 10 and 20 seconds. */
  readonly retry?: RetryPolicy
  /** How many tries a job has, 1 to 32 767, whatever `retry` says. */
  readonly maxTries?: number
  /** How long one try may take, in milliseconds, 1 to one day. Then its signal is aborted with TASK_TIMEOUT. Default: no limit. */
  readonly timeoutMs?: number
  /** How long one try may take with all extensions of `timeoutMs`, in milliseconds, `timeoutMs` to a week. Default: no limit. */
  readonly maxRunMs?: number
  /** After how many milliseconds a job that has not started is filtered, with the reason `deadline`. Default: never. */
  readonly deadlineMs?: number
  /** The priority of pushes that give none, -32 767 to 32 767. It counts in the order `priority`. */
  readonly priority?: number
  readonly tags?: JobTags
  /** When the job is pushed by the clock: a timer, or a text that `parseTimer` reads. Such a job has no input. */
  readonly timer?: WithoutInput<Given, Timer | string>
}

/** A value for jobs without an input. For others it is a text that nobody has, which says what is wrong. */
type WithoutInput<Given, Value> = [Given] extends [void] ? Value : 'a job with an input has no timer'

/** The checked options of a job, without their types. */
export interface JobSettings {
  readonly input: InputSchema<unknown> | undefined
  readonly key: ((input: never) => string) | undefined
  readonly id: ((input: never) => string) | undefined
  readonly next: () => readonly AnyJob[]
  readonly retry: RetryPolicy
  readonly maxTries: number | undefined
  readonly timeoutMs: number | undefined
  readonly maxRunMs: number | undefined
  readonly deadlineMs: number | undefined
  readonly priority: number | undefined
  readonly tags: JobTags | undefined
  readonly timer: Timer | undefined
  /** How the topic of the jobs is initialized. */
  readonly topic: TopicOptions
}

const names = optionNames<JobOptions<unknown, unknown, AnyJob>>('defineJob', {
  input: true,
  key: true,
  ordered: true,
  id: true,
  order: true,
  next: true,
  retry: true,
  maxTries: true,
  timeoutMs: true,
  maxRunMs: true,
  deadlineMs: true,
  priority: true,
  tags: true,
  timer: true,
})

const defaultRetry = exponential({ tries: 4, firstMs: 5_000 })
const dayMs = 86_400_000

/**
 * Defines a job. Its jobs are tasks of the topic of the same name.
 *
 * @param name 1 to 250 characters
 * @throws TaskError ARGUMENT_INVALID, TIMER_INVALID
 * @example
 * const email = defineJob('email', {
 *   input: z.object({ to: z.string(), subject: z.string() }),
 *   retry: exponential({ tries: 5, firstMs: 1_000 }),
 * })
 * const cleanup = defineJob('cleanup', { timer: '03:00 Europe/Oslo' })
 */
export function defineJob<const Name extends string, Given = void, Input = Given, const Next extends AnyJob = never>(
  name: Name,
  options?: JobOptions<Given, Input, Next> & JsonOnly<Given>,
): Job<Name, Given, Input, Next['name']> {
  checkTopic(name)
  return Object.freeze({
    name,
    settings: Object.freeze(settingsOf(name, (options ?? {}) as unknown as JobOptions<never, unknown, AnyJob>)),
  })
}

function settingsOf(name: string, options: JobOptions<never, unknown, AnyJob>): JobSettings {
  checkNames(names, options)
  const { input, key, id, ordered = false, order = 'fifo', retry = defaultRetry, tags, timer, next = [] } = options
  const { maxTries, timeoutMs, maxRunMs, deadlineMs, priority } = options
  if (input !== undefined && typeof input['~standard']?.validate !== 'function')
    throw invalid('input', input, 'must be a Standard Schema, such as one of zod, or json<T>()')
  for (const [argument, value] of Object.entries({ key, id }))
    if (value !== undefined && typeof value !== 'function') throw invalid(argument, value, 'must be a function of the input')
  if (typeof ordered !== 'boolean') throw invalid('ordered', ordered, 'must be true or false')
  if (ordered && key === undefined) throw invalid('ordered', ordered, `needs a key, by which the jobs "${name}" are in order`)
  if (!pollOrders.includes(order)) throw invalid('order', order, `must be one of ${pollOrders.join(', ')}`)
  if (typeof next !== 'function' && !Array.isArray(next))
    throw invalid('next', next, 'must be a list of jobs, or a function of one')
  if (Array.isArray(next) && next.some((job: Partial<AnyJob> | undefined) => typeof job?.settings?.next !== 'function'))
    throw invalid('next', next, 'must be made by defineJob')
  if (typeof retry !== 'function') throw invalid('retry', retry, 'must be a policy, such as exponential({ … })')
  if (maxTries !== undefined) checkInteger('maxTries', maxTries, 1, taskLimits.tries)
  if (timeoutMs !== undefined) checkInteger('timeoutMs', timeoutMs, 1, dayMs)
  if (maxRunMs !== undefined) checkInteger('maxRunMs', maxRunMs, timeoutMs ?? 1, 7 * dayMs)
  if (deadlineMs !== undefined) checkDuration('deadlineMs', deadlineMs)
  if (priority !== undefined) checkInteger('priority', priority, -taskLimits.priority, taskLimits.priority)
  if (tags !== undefined) checkTags(tags)
  if (timer !== undefined && input !== undefined)
    throw invalid('timer', timer, `must not be given with an input: the clock pushes jobs "${name}" without any`)
  for (const [argument, value] of Object.entries({ id, deadlineMs }))
    if (timer !== undefined && value !== undefined)
      throw invalid(argument, value, `must not be given with a timer: the clock pushes jobs "${name}" without it`)
  return {
    input: input as InputSchema<unknown> | undefined,
    key,
    id,
    next: typeof next === 'function' ? next : () => next,
    retry,
    maxTries,
    timeoutMs,
    maxRunMs,
    deadlineMs,
    priority,
    tags,
    timer: typeof timer === 'string' ? parseTimer(timer) : timer,
    topic: { order, condition: ordered ? 'singular-by-identifier' : 'none', keyed: key !== undefined },
  }
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
