import { checkDuration, checkInteger, checkNames, invalid, optionNames, taskLimits } from '@taskstream/task-api'
import type { TopicLimits } from '@taskstream/task-api'
import { defineJob, defineQueue, many } from '@taskstream/task-jobs'
import type { Job, ManyNeed, Queue } from '@taskstream/task-jobs'
import type { RetryPolicy } from '@taskstream/task-processor'
import { failure } from './errors.ts'
import { given } from '../given.ts'
import { storedResult, storedTask } from './stored-task.ts'
import type { StoredResult, StoredTask } from './stored-task.ts'

export interface WorkQueueOptions {
  /** Letters and digits. Default `DEFAULT`. */
  readonly name?: string
  /** How long after it is enqueued a task may be started, in milliseconds, 0 to 100 years. Default 0: whenever there is room. */
  readonly maxAgeMs?: number
  /** How often a task is tried at most, -1 to 32 767. Default -1, no limit; for the queue `DEFAULT` 100. */
  readonly maxTries?: number
  /** How long one try may take, in milliseconds, 1 to one day. Default one hour; for the queue `DEFAULT` one minute. */
  readonly maxRunMs?: number
  /** How many tasks that have not ended it has at most, 0 to 10 000 000. Default 0, any number. */
  readonly maxEntries?: number
  /** Whether a queue that is full drops the oldest task that nobody handles. Default false: it refuses new ones. */
  readonly discardOld?: boolean
  /** How many tasks all clients together handle at a time, 0 to 1 000 000. Default 0, as many as each client allows. */
  readonly maxConcurrent?: number
  /** Whether the queue must be there already. Default false: it is made known when it is first used. */
  readonly noCreate?: boolean
  /**
   * Whether its tasks are signed by whoever enqueues them, and verified before they are handled: `required`, or `optional` while not all are signed yet.
   * Default: they are not. The stream is given the keys, as `signing` and `verification`.
   */
  readonly signed?: 'required' | 'optional'
}

/** The checked options of a queue. */
export type WorkQueue = Required<Omit<WorkQueueOptions, 'signed'>> & Pick<WorkQueueOptions, 'signed'>

const names = optionNames<WorkQueueOptions>('a queue', {
  name: true,
  maxAgeMs: true,
  maxTries: true,
  maxRunMs: true,
  maxEntries: true,
  discardOld: true,
  maxConcurrent: true,
  noCreate: true,
  signed: true,
})

const defaultQueue = 'DEFAULT'

/** @throws TaskError ARGUMENT_INVALID */
export function checkedQueue(options: string | WorkQueueOptions = {}): WorkQueue {
  const all = typeof options === 'string' ? { name: options } : options
  checkNames(names, all)
  const { name = defaultQueue, maxAgeMs = 0, maxEntries = 0, discardOld = false, maxConcurrent = 0, noCreate = false } = all
  const { signed } = all
  const isDefault = name === defaultQueue
  const { maxTries = isDefault ? 100 : -1, maxRunMs = isDefault ? 60_000 : 3_600_000 } = all
  if (name === '') throw failure('ARGUMENT_INVALID', 'queueRequired', undefined, { argument: 'name', value: name })
  if (typeof name !== 'string' || !/^[a-zA-Z0-9]{1,200}$/.test(name))
    throw failure('ARGUMENT_INVALID', 'queueInvalid', 'it must have 1 to 200 letters and digits', {
      argument: 'name',
      value: name,
    })
  checkDuration('maxAgeMs', maxAgeMs)
  checkInteger('maxTries', maxTries, -1, taskLimits.tries)
  checkInteger('maxRunMs', maxRunMs, 1, 86_400_000)
  checkInteger('maxEntries', maxEntries, 0, 10_000_000)
  checkInteger('maxConcurrent', maxConcurrent, 0, 1_000_000)
  for (const [argument, value] of Object.entries({ discardOld, noCreate }))
    if (typeof value !== 'boolean') throw invalid(argument, value, 'must be true or false')
  return { name, maxAgeMs, maxTries, maxRunMs, maxEntries, discardOld, maxConcurrent, noCreate, ...given({ signed }) }
}

/** No type of a task and no queue has a dot in its name, so that topics of others are never taken for queues. */
const prefix = 'asyncjobs.'

export function topicOf(queue: string): string {
  return `${prefix}${queue}`
}

/** The name of the queue of a topic; undefined if the topic is none. */
export function queueOf(topic: string): string | undefined {
  return topic.startsWith(prefix) ? topic.slice(prefix.length) : undefined
}

/** A task that waits for nothing. */
type TaskJob = Job<string, StoredTask, StoredTask, never, StoredResult>
/** A task with dependencies. What those have returned is read before each try. */
type DependentJob = Job<
  string,
  StoredTask,
  StoredTask,
  never,
  StoredResult,
  StoredResult,
  { readonly dependencies: ManyNeed<TaskJob> }
>

/** The definitions of a queue. */
export interface Definitions {
  readonly queue: Queue
  readonly task: TaskJob
  readonly dependent: DependentJob
}

/** The limits of a queue that all processes keep together. */
export function limitsOf({
  maxEntries,
  discardOld,
  maxConcurrent,
}: Pick<WorkQueue, 'maxEntries' | 'discardOld' | 'maxConcurrent'>): TopicLimits {
  return {
    ...(maxEntries > 0 && { maxEntries: { count: maxEntries, whenFull: discardOld ? 'drop-oldest' : 'reject' } }),
    ...(maxConcurrent > 0 && { total: maxConcurrent }),
  }
}

/** @param retry when tasks of this process are tried again; others have no say in it */
export function definitionsOf(queueOptions: WorkQueue, retry?: RetryPolicy): Definitions {
  const { name, maxRunMs, signed } = queueOptions
  const limits = limitsOf(queueOptions)
  const queue = defineQueue(topicOf(name), {
    order: 'priority',
    ...(Object.keys(limits).length > 0 && { limits }),
    ...given({ signed }),
  })
  const options = { queue, input: storedTask, output: storedResult, timeoutMs: maxRunMs, ...given({ retry }) }
  const task: TaskJob = defineJob(`${queue.name}.task`, options)
  return { queue, task, dependent: defineJob(`${queue.name}.dependent`, { ...options, needs: { dependencies: many(task) } }) }
}
