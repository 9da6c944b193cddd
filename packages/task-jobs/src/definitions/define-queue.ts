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
import type { PollOrder, TopicOptions } from '@taskstream/task-api'
import type { RetryPolicy } from '@taskstream/task-processor'
import { checkedLimits } from './job-limits.ts'
import type { DefinedLimits, JobLimits } from './job-limits.ts'
import { checkShared } from './shared-order.ts'
import { checkSigned } from './task-settings.ts'
import type { Signed } from './task-settings.ts'

/**
 * The definition of a queue: one topic with the jobs of several definitions. It is a value without any connection, as a job is.
 */
export interface Queue<Name extends string = string> {
  readonly name: Name
  readonly settings: QueueSettings
}

export interface QueueOptions {
  /** In which order ready jobs start. Default `fifo`. */
  readonly order?: PollOrder
  /** Whether jobs have keys. Then each definition in the queue has a `key`, and otherwise none has. Default: true if the queue is `ordered`, or has `limits.perKey`. */
  readonly keyed?: boolean
  /** Whether the jobs of a key run one after the other, whatever their definitions. Default false. */
  readonly ordered?: boolean
  /** When a job is tried again whose definition says nothing, or which no route matches. Default: as for jobs of a topic of their own. */
  readonly retry?: RetryPolicy
  /** How many tries a job has whose definition says nothing, 1 to 32 767, whatever `retry` says. */
  readonly maxTries?: number
  /** How long one try may take of a job whose definition says nothing, in milliseconds, 1 to one day. */
  readonly timeoutMs?: number
  /** After how many milliseconds a job is filtered that has not started, and whose definition says nothing. Default: never. */
  readonly deadlineMs?: number
  /**
   * Limits that all processes keep together: on jobs at a time (`total`), on a rate, on entries, and where copies of failed jobs go. They are stored when the
   * queue is first made; what is stored wins, and `stream.tasks.limit` changes it. `perKey` alone is not stored; it counts all jobs of a key, whatever their
   * definitions.
   */
  readonly limits?: JobLimits
  /**
   * Whether its jobs are signed by whoever pushes them, and verified before they are handled: `required`, or `optional` while not all are signed yet.
   * Default: they are not. The stream is given the keys.
   */
  readonly signed?: Signed
}

/** The checked options of a queue. */
export interface QueueSettings extends DefinedLimits {
  readonly what: 'queue'
  readonly retry: RetryPolicy | undefined
  readonly maxTries: number | undefined
  readonly timeoutMs: number | undefined
  readonly deadlineMs: number | undefined
  readonly signed: Signed | undefined
  readonly topic: Required<TopicOptions>
}

const names = optionNames<QueueOptions>('defineQueue', {
  order: true,
  keyed: true,
  ordered: true,
  retry: true,
  maxTries: true,
  timeoutMs: true,
  deadlineMs: true,
  limits: true,
  signed: true,
})

/**
 * Defines a queue, for jobs that are too many for a topic and a loop each, or that have one order together. Ids are unique in a queue: two jobs of
 * different definitions cannot have the same.
 *
 * @param name 1 to 250 characters
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const mail = defineQueue('mail', { order: 'priority' })
 * const welcome = defineJob('email:welcome', { queue: mail, input: json<{ to: string }>() })
 */
export function defineQueue<const Name extends string>(name: Name, options: QueueOptions = {}): Queue<Name> {
  checkTopic(name)
  checkNames(names, options)
  const { limits, subKeys } = checkedLimits(name, options.limits)
  const { order = 'fifo', ordered = false, retry, maxTries, timeoutMs, deadlineMs, signed } = options
  const { keyed = ordered || subKeys !== undefined || order === 'shared' } = options
  if (!pollOrders.includes(order)) throw invalid('order', order, `must be one of ${pollOrders.join(', ')}`)
  if (typeof ordered !== 'boolean') throw invalid('ordered', ordered, 'must be true or false')
  if (typeof keyed !== 'boolean') throw invalid('keyed', keyed, 'must be true or false')
  if (ordered && !keyed)
    throw invalid('keyed', keyed, `must not be given: the jobs of the queue "${name}" are in order by their keys`)
  if (subKeys && !keyed)
    throw invalid('keyed', keyed, `must not be given: perKey limits the jobs of a key in the queue "${name}"`)
  if (subKeys && ordered)
    throw invalid(
      'ordered',
      ordered,
      `must not be given with perKey: in the queue "${name}" either one job of a key is handled at a time, or several`,
    )
  if (order === 'shared') checkShared(`of the queue "${name}"`, { keyed, ordered, perKey: subKeys !== undefined })
  if (retry !== undefined && typeof retry !== 'function')
    throw invalid('retry', retry, 'must be a policy, such as exponential({ … })')
  checkSigned(signed)
  if (maxTries !== undefined) checkInteger('maxTries', maxTries, 1, taskLimits.tries)
  if (timeoutMs !== undefined) checkInteger('timeoutMs', timeoutMs, 1, 86_400_000)
  if (deadlineMs !== undefined) checkDuration('deadlineMs', deadlineMs)
  const condition = ordered || subKeys ? 'singular-by-identifier' : 'none'
  const topic = Object.freeze({ order, condition, keyed, record: 'states' } as const)
  return Object.freeze({
    name,
    settings: Object.freeze({ what: 'queue', retry, maxTries, timeoutMs, deadlineMs, limits, subKeys, signed, topic } as const),
  })
}

/** What a job says of its own order, key and signature. */
interface JobMode {
  readonly order: PollOrder | undefined
  readonly ordered: boolean | undefined
  readonly key: unknown
  readonly signed: Signed | undefined
}

/**
 * Refuses a job that would be in another order than its queue, or found in another way.
 *
 * @throws TaskError ARGUMENT_INVALID, naming the option that differs
 */
export function checkInQueue(
  queue: Partial<Queue>,
  name: string,
  { order, ordered, key, signed }: JobMode,
): asserts queue is Queue {
  if (queue?.settings?.what !== 'queue') throw invalid('queue', queue, 'must be made by defineQueue')
  const { topic, subKeys } = queue.settings
  const isOrdered = topic.condition !== 'none' && !subKeys
  if (name === queue.name) throw invalid('name', name, 'must differ from the name of the queue')
  if (name.includes('*')) throw invalid('name', name, 'must not contain *, which stands for many names in the routes of a queue')
  if (order !== undefined && order !== topic.order)
    throw invalid('order', order, `of the job "${name}" is up to its queue "${queue.name}", where it is "${topic.order}"`)
  if (ordered !== undefined && ordered !== isOrdered)
    throw invalid('ordered', ordered, `of the job "${name}" is up to its queue "${queue.name}", where it is ${isOrdered}`)
  if (signed !== undefined && signed !== queue.settings.signed)
    throw invalid(
      'signed',
      signed,
      `of the job "${name}" is up to its queue "${queue.name}", where it is ${queue.settings.signed === undefined ? 'not given' : `"${queue.settings.signed}"`}`,
    )
  if (key !== undefined && !topic.keyed)
    throw invalid('key', key, `must not be given for the job "${name}", unless its queue "${queue.name}" has { keyed: true }`)
  if (key === undefined && topic.keyed)
    throw invalid('key', key, `must be given for the job "${name}", as its queue "${queue.name}" is keyed`)
}

/** The topic of the tasks of a definition: that of its queue, or its own. */
export function topicOf({
  name,
  settings,
}: {
  readonly name: string
  readonly settings: { readonly queue?: Queue | undefined }
}): string {
  return settings.queue?.name ?? name
}
