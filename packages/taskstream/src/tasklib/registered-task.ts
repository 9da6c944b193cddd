import { checkInteger, checkNames, invalid, optionNames, taskLimits } from '@taskstream/task-api'
import type { InputSchema, OptionNames } from '@taskstream/task-api'
import { exponential } from '@taskstream/task-processor'
import type { RetryPolicy } from '@taskstream/task-processor'
import type { Job, JobTags } from '@taskstream/task-jobs'

/** The defaults of all tasks. */
export interface TaskLibOptions {
  /** The queue of the tasks, 1 to 250 characters. Default `tasklib`. */
  readonly queue?: string
  /** How often a task is tried again, 0 to 32 766. Default 3: four tries in all. */
  readonly maxRetries?: number
  /** The pause before the first retry, in seconds, 0 to 100 years. Default 5. */
  readonly baseRetryDelaySeconds?: number
  /** The factor from one pause to the next, 1 to 100. Default 2. */
  readonly retryBackoffMultiplier?: number
  /** How long one try may take, in seconds, one millisecond to one day. Default: no limit. */
  readonly defaultTaskTimeoutSeconds?: number
}

/** How the tasks of one function are tried. It counts before the defaults of all tasks. */
export interface TaskOptions {
  /** The name of the task. Default: that of the function. Give one if a bundler renames functions. */
  readonly name?: string
  /** How often a task is tried again, 0 to 32 766. */
  readonly maxRetries?: number
  /** How long one try may take, in seconds, one millisecond to one day. */
  readonly timeoutSeconds?: number
}

/** As `TaskOptions`, with the schema of what the function is given: any Standard Schema. */
export interface CheckedTaskOptions<Kwargs, Given> extends TaskOptions {
  /** Its defaults are stored with the task, so what it makes of the arguments must pass it again. */
  readonly kwargs: InputSchema<Kwargs, Given>
}

/** How one task is done. It counts before what was registered. */
export interface SubmitOptions {
  /** How long the task waits before it may start, in seconds, 0 to 100 years. Default 0. */
  readonly delaySeconds?: number
  /** How often the task is tried again, 0 to 32 766. */
  readonly maxRetries?: number
  /** How long one try may take, in seconds, one millisecond to one day. */
  readonly timeoutSeconds?: number
  /** Tasks of a higher priority start first, -32 767 to 32 767. Default 0. */
  readonly priority?: number
  /** Small facts about the task, for `listTasks`. */
  readonly tags?: JobTags
}

/** What a function is told about its task, beside the arguments. */
export interface TaskContext {
  readonly id: string
  /** How often the task was tried before. */
  readonly retryCount: number
  readonly tags: JobTags
  /** Aborted when the function should let go: with a TaskTimeoutError, a TaskLockError, or because the worker stops. */
  readonly signal: AbortSignal
  /** Begins the time of the try anew. @throws the reason of the signal */
  readonly extend: () => void
}

/** A function that can be registered: it is given an object of arguments, and returns what JSON can express. */
export type TaskFunction<Kwargs = never> = (kwargs: Kwargs, context: TaskContext) => unknown

/** A registered function. What a submission gives is known to the compiler alone. */
export interface Taking<Given> {
  readonly '~given'?: (given: Given) => void
}

/** The job of a task: its arguments, which are an object even if there are none, and its result in an object. */
export type TaskJob<Given = object> = Job<
  string,
  [Given] extends [void] ? object : Given,
  unknown,
  never,
  { readonly value: unknown }
>

/** A function with the options of its registration, and the settings that follow from them. */
export interface RegisteredTask {
  readonly fn: TaskFunction
  readonly options: TaskOptions
}

/** The checked options of all tasks. */
export interface Defaults {
  readonly queue: string
  readonly maxRetries: number
  readonly timeoutSeconds: number | undefined
  readonly retry: RetryPolicy
}

const mostRetries = taskLimits.tries - 1
const longestTimeoutSeconds = 86_400

const defaultNames = optionNames<TaskLibOptions>('taskLib', {
  queue: true,
  maxRetries: true,
  baseRetryDelaySeconds: true,
  retryBackoffMultiplier: true,
  defaultTaskTimeoutSeconds: true,
})
const taskNames = optionNames<CheckedTaskOptions<never, never>>('task', {
  name: true,
  kwargs: true,
  maxRetries: true,
  timeoutSeconds: true,
})
const submitNames = optionNames<SubmitOptions>('submitTask', {
  delaySeconds: true,
  maxRetries: true,
  timeoutSeconds: true,
  priority: true,
  tags: true,
})

/** @throws TaskError ARGUMENT_INVALID */
export function defaultsOf(options: TaskLibOptions): Defaults {
  checkNames(defaultNames, options)
  const { queue = 'tasklib', maxRetries = 3, baseRetryDelaySeconds = 5, retryBackoffMultiplier = 2 } = options
  const { defaultTaskTimeoutSeconds: timeoutSeconds } = options
  checkInteger('maxRetries', maxRetries, 0, mostRetries)
  if (timeoutSeconds !== undefined) timeoutMsOf('defaultTaskTimeoutSeconds', timeoutSeconds)
  const pauses = {
    firstMs: millisecondsOf('baseRetryDelaySeconds', baseRetryDelaySeconds),
    factor: retryBackoffMultiplier,
    maxMs: taskLimits.durationMs,
    jitter: 0,
  }
  const ofTask = exponential({ ...pauses, tries: taskLimits.tries })
  const ofOthers = exponential({ ...pauses, tries: maxRetries + 1 })
  // A task has its own number of tries. Another job of the queue may have none.
  const retry: RetryPolicy = (failed, error, draw) => (failed.maxTries === undefined ? ofOthers : ofTask)(failed, error, draw)
  return { queue, maxRetries, timeoutSeconds, retry }
}

/** @throws TaskError ARGUMENT_INVALID */
export function checkTaskOptions(options: TaskOptions): void {
  checkTries(taskNames, options)
}

/** @throws TaskError ARGUMENT_INVALID */
export function checkSubmitOptions(options: SubmitOptions): void {
  checkTries(submitNames, options)
}

function checkTries(names: OptionNames, options: Pick<TaskOptions, 'maxRetries' | 'timeoutSeconds'>): void {
  checkNames(names, options)
  const { maxRetries, timeoutSeconds } = options
  if (maxRetries !== undefined) checkInteger('maxRetries', maxRetries, 0, mostRetries)
  if (timeoutSeconds !== undefined) timeoutMsOf('timeoutSeconds', timeoutSeconds)
}

/** Seconds as whole milliseconds. @throws TaskError ARGUMENT_INVALID */
export function millisecondsOf(argument: string, seconds: number): number {
  return timeOf(argument, seconds, 0, taskLimits.durationMs / 1_000)
}

/** @throws TaskError ARGUMENT_INVALID */
export function timeoutMsOf(argument: string, seconds: number): number {
  return timeOf(argument, seconds, 0.001, longestTimeoutSeconds)
}

function timeOf(argument: string, seconds: number, least: number, most: number): number {
  if (!(typeof seconds === 'number' && seconds >= least && seconds <= most))
    throw invalid(argument, seconds, `must be seconds from ${least} to ${most}`)
  return Math.round(seconds * 1_000)
}
