import { checkInteger, checkNames, checkTopic, invalid, optionNames } from '@taskstream/task-api'
import type { InputSchema, PollOrder } from '@taskstream/task-api'
import type { RetryPolicy } from '@taskstream/task-processor'
import { parseTimer } from '@taskstream/task-timers'
import type { Timer } from '@taskstream/task-timers'
import { withAskedPause } from './asked-pause.ts'
import { checkInQueue } from './define-queue.ts'
import type { Queue } from './define-queue.ts'
import { checkedLimits } from './job-limits.ts'
import type { CheckedLimits, JobLimits } from './job-limits.ts'
import type { JsonOnly } from './json-only.ts'
import { checkedNeeds } from './needs.ts'
import type { NeedMap } from './needs.ts'
import { checkShared } from './shared-order.ts'
import { checkSchema, checkSigned, taskSettingsOf } from './task-settings.ts'
import type { JobTags, Signed, TaskSettings } from './task-settings.ts'
import { longestTimeoutMs } from './task-timeout.ts'
import { isVersioned } from './versioned.ts'

/**
 * The definition of a job: its name, the types of its input, and how it is tried. It is a value without any connection, so a module can share it
 * between programs that push and programs that handle.
 */
export interface Job<
  Name extends string = string,
  Given = void,
  Input = Given,
  Next extends string = never,
  Returned = void,
  End = Returned,
  Needs = void,
> {
  readonly name: Name
  readonly settings: JobSettings
  /** Types only; never set. */
  readonly '~types'?: {
    readonly given: (given: Given) => void
    readonly input: Input
    readonly next: Next
    readonly returned: (returned: Returned) => void
    readonly end: End
    readonly needs: (needs: Needs) => void
  }
}

/** A job of any type. */
export type AnyJob = Job<string, never, unknown, string, never, unknown, never>

/** A job of this name that is given this, whatever else it is. */
export type JobOf<Name extends string, Given = never, Needs = never> = Job<Name, Given, unknown, string, never, unknown, Needs>

/** What whoever waits for one of these jobs gets. */
export type EndOf<SomeJob extends AnyJob> = NonNullable<SomeJob['~types']>['end']

export interface JobOptions<Given, Input, Next extends AnyJob, Returned = void, Result = Returned, Needs = void> {
  /** The schema of the input: zod, valibot, arktype, any Standard Schema, `json<T>()`, or `versioned(…)`. Without a schema the job has no input. */
  readonly input?: InputSchema<Input, Given>
  /**
   * The schema of what a handler returns, which is kept for those who wait for the job. It is stored as it is returned, and whoever waits gets what the
   * schema makes of that. Without a schema nothing is kept.
   */
  readonly output?: InputSchema<Result, Returned>
  /**
   * The queue that the jobs of this definition share with others. Its own options decide on `order` and `ordered`, and on whether there is a `key`.
   * Default: a topic of the same name as the job.
   */
  readonly queue?: Queue
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
  /**
   * The jobs that one of this definition needs, by name: a job, `many` or `settled` of one. Each push is given them, and the handler gets what they have
   * returned. Until they have ended the job is blocked; if one does not succeed, it fails as unreachable.
   */
  readonly needs?: Needs
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
  /**
   * Limits that all processes keep together: on jobs at a time (`total`), on a rate, on entries, and where copies of failed jobs go. In a queue they are the
   * queue's. They are stored when the job is first made known; what is stored wins, and `stream.tasks.limit` changes it. `perKey` alone is not stored.
   */
  readonly limits?: JobLimits
  /**
   * Whether jobs are signed by whoever pushes them, and verified before they are handled: `required`, or `optional` while not all are signed yet. Each
   * then has an id, a UUID if you give none. The stream is given the keys. Default: they are not signed; in a queue, that is up to the queue.
   */
  readonly signed?: Signed
  /** When the job is pushed by the clock: a timer, or a text that `parseTimer` reads. Such a job has no input. */
  readonly timer?: WithoutInput<Given, Timer | string>
}

/** A value for jobs without an input. For others it is a text that nobody has, which says what is wrong. */
type WithoutInput<Given, Value> = [Given] extends [void] ? Value : 'a job with an input has no timer'

/** The checked options of a job, without their types. */
export interface JobSettings extends TaskSettings {
  readonly what: 'job'
  readonly output: InputSchema<unknown> | undefined
  readonly next: () => readonly AnyJob[]
  readonly timeoutMs: number | undefined
  readonly maxRunMs: number | undefined
  readonly timer: Timer | undefined
  /** The limits of the topic, which a queue shares. */
  readonly limits?: CheckedLimits | undefined
}

const names = optionNames<JobOptions<unknown, unknown, AnyJob>>('defineJob', {
  input: true,
  output: true,
  queue: true,
  key: true,
  ordered: true,
  id: true,
  order: true,
  next: true,
  needs: true,
  retry: true,
  maxTries: true,
  timeoutMs: true,
  maxRunMs: true,
  deadlineMs: true,
  priority: true,
  tags: true,
  limits: true,
  signed: true,
  timer: true,
})

/**
 * Defines a job. Its jobs are tasks of the topic of the same name, or of a queue.
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
export function defineJob<
  const Name extends string,
  Given = void,
  Input = Given,
  const Next extends AnyJob = never,
  Returned = void,
  Result = Returned,
  const Needs extends NeedMap | void = void,
>(
  name: Name,
  options?: JobOptions<Given, Input, Next, Returned, Result, Needs> & JsonOnly<Given> & JsonOnly<Returned, 'output'>,
): Job<Name, Given, Input, Next['name'], Returned, Result | EndOf<Next>, Needs> {
  checkTopic(name)
  return Object.freeze({
    name,
    settings: Object.freeze(
      settingsOf(name, (options ?? {}) as unknown as JobOptions<never, unknown, AnyJob, void, void, NeedMap>),
    ),
  })
}

function settingsOf(name: string, options: JobOptions<never, unknown, AnyJob, void, void, NeedMap>): JobSettings {
  checkNames(names, options)
  const { queue } = options
  if (queue !== undefined) checkInQueue(queue, name, options as Parameters<typeof checkInQueue>[2])
  const inherited = queue?.settings
  if (queue !== undefined && options.limits !== undefined)
    throw invalid('limits', options.limits, `of the job "${name}" are up to its queue "${queue.name}"`)
  const retry = options.retry ?? inherited?.retry
  const { maxTries = inherited?.maxTries } = options
  const ownDeadlineMs = options.deadlineMs ?? (options.timer === undefined ? inherited?.deadlineMs : undefined)
  const { order, ...settings } = taskSettingsOf({ ...options, retry, maxTries, deadlineMs: ownDeadlineMs } as Parameters<
    typeof taskSettingsOf
  >[0])
  const { input, key, id, deadlineMs } = settings
  const { limits, subKeys } = inherited ?? checkedLimits(name, options.limits)
  const { output, ordered = false, timeoutMs = inherited?.timeoutMs, maxRunMs, timer, next = [] } = options
  checkSigned(options.signed)
  const signed = queue ? queue.settings.signed : options.signed
  checkSchema('output', output)
  if (isVersioned(output)) throw invalid('output', output, 'must not be versioned: only inputs have versions')
  if (typeof ordered !== 'boolean') throw invalid('ordered', ordered, 'must be true or false')
  if (order === 'shared')
    checkShared(`of the jobs "${name}"`, { keyed: key !== undefined, ordered, perKey: subKeys !== undefined })
  if (ordered && key === undefined) throw invalid('ordered', ordered, `needs a key, by which the jobs "${name}" are in order`)
  if (subKeys && key === undefined)
    throw invalid('perKey', subKeys.count, `needs a key, of which so many jobs "${name}" are handled at a time`)
  if (subKeys && ordered)
    throw invalid(
      'ordered',
      ordered,
      `must not be given with perKey: either one job "${name}" of a key is handled at a time, or several`,
    )
  if (typeof next !== 'function' && !Array.isArray(next))
    throw invalid('next', next, 'must be a list of jobs, or a function of one')
  if (Array.isArray(next) && next.some((job: Partial<AnyJob> | undefined) => typeof job?.settings?.next !== 'function'))
    throw invalid('next', next, 'must be made by defineJob')
  if (timeoutMs !== undefined) checkInteger('timeoutMs', timeoutMs, 1, longestTimeoutMs)
  if (maxRunMs !== undefined) checkInteger('maxRunMs', maxRunMs, timeoutMs ?? 1, 7 * longestTimeoutMs)
  if (timer !== undefined && input !== undefined)
    throw invalid('timer', timer, `must not be given with an input: the clock pushes jobs "${name}" without any`)
  if (timer !== undefined && signed === 'required')
    throw invalid(
      'timer',
      timer,
      `must not be given for the job "${name}", which must be signed: a scheduler pushes what a row says, and no key vouches for that row`,
    )
  for (const [argument, value] of Object.entries({ id, deadlineMs, needs: options.needs }))
    if (timer !== undefined && value !== undefined)
      throw invalid(argument, value, `must not be given with a timer: the clock pushes jobs "${name}" without it`)
  return {
    ...settings,
    retry: withAskedPause(settings.retry),
    what: 'job',
    output: output as InputSchema<unknown> | undefined,
    next: typeof next === 'function' ? next : () => next,
    needs: checkedNeeds(options.needs),
    timeoutMs,
    maxRunMs,
    timer: typeof timer === 'string' ? parseTimer(timer) : timer,
    queue,
    limits,
    subKeys,
    signed,
    topic: queue?.settings.topic ?? {
      order,
      condition: ordered || subKeys ? 'singular-by-identifier' : 'none',
      keyed: key !== undefined,
    },
  }
}
