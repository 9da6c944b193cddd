import { checkInteger, checkNames, filterStates, invalid, optionNames } from '@taskstream/task-api'
import type { TaskReason } from '@taskstream/task-api'
import { topicOf } from '@taskstream/task-jobs'
import type { JobOf, JobRef, JobState, Queue } from '@taskstream/task-jobs'
import { checked, checkedQueue } from './definitions.ts'

export interface WatchOptions<Name extends string = string, Among extends Queue = Queue> {
  /** The jobs to watch. Default: all that this stream handles or pushes, or those of `queues`. */
  readonly jobs?: readonly JobOf<Name>[]
  /** Queues of which all jobs are watched, whether this process has their definitions or not. */
  readonly queues?: readonly Among[]
  /** Only events of these states. Default: all. */
  readonly states?: readonly JobState[]
  /** Ends the watching. */
  readonly signal?: AbortSignal
  /** How often the database is looked at for what other processes do, in milliseconds, 100 to 60 000. Default 1 000. */
  readonly everyMs?: number
}

/** The jobs that are watched: by topic, and in a queue by name. Undefined stands for all jobs of the stream. */
type WatchedJobs = ReadonlyMap<string, ReadonlySet<string> | 'all'>

/** A job has come into a state. */
export type JobEvent<Name extends string = string> = Name extends string
  ? {
      /** The name of the job. */
      readonly job: Name
      /**
       * The job, as its push would return it. Its `id` is `@` and its sequence if this process does not know the caller's own: that stands for the job
       * too.
       */
      readonly ref: JobRef<Name>
      readonly state: JobState
      /** Why it has its state, where that does not say so, such as `cancelled`, `deadline`, `tries`. */
      readonly reason: TaskReason | undefined
      /** How many of its attempts count towards `maxTries`. Undefined for a job that this process knows only because it has cancelled it. */
      readonly tries: number | undefined
      /** How often it was taken. Undefined for a job that this process knows only because it has cancelled it. */
      readonly attempt: number | undefined
      /** When this process has learned of it, by its own clock. */
      readonly at: Date
      /** The error of the try that failed, or the message of the decision; the first 1 000 characters. Undefined after a success. */
      readonly error: string | undefined
      /** How many events just before this one were thrown away, as nobody had read them. Usually 0. */
      readonly dropped: number
    }
  : never

export interface CheckedWatch {
  readonly jobs: WatchedJobs | undefined
  readonly states: ReadonlySet<JobState> | undefined
  readonly signal: AbortSignal | undefined
  readonly everyMs: number
}

const names = optionNames<WatchOptions>('watch', { jobs: true, queues: true, states: true, signal: true, everyMs: true })
const allStates: readonly JobState[] = [...filterStates, 'retrying']

/** @throws TaskError ARGUMENT_INVALID */
export function checkWatch(options: WatchOptions): CheckedWatch {
  checkNames(names, options)
  const { jobs, queues, states, signal, everyMs = 1_000 } = options
  for (const [argument, list] of Object.entries({ jobs, queues, states }))
    if (list !== undefined && !(Array.isArray(list) && list.length > 0))
      throw invalid(argument, list, 'must be a list that is not empty')
  for (const state of states ?? [])
    if (!allStates.includes(state)) throw invalid('states', state, `must be one of ${allStates.join(', ')}`)
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalid('signal', signal, 'must be an AbortSignal')
  checkInteger('everyMs', everyMs, 100, 60_000)
  return { jobs: watchedJobs(jobs, queues), states: states && new Set(states), signal, everyMs }
}

function watchedJobs(jobs: WatchOptions['jobs'], queues: WatchOptions['queues']): WatchedJobs | undefined {
  if (!jobs && !queues) return undefined
  const watched = new Map<string, Set<string> | 'all'>()
  for (const job of jobs ?? []) {
    const topic = topicOf(checked(job))
    const others = watched.get(topic) ?? new Set()
    if (others !== 'all') watched.set(topic, job.settings.queue ? others.add(job.name) : 'all')
  }
  for (const queue of queues ?? []) watched.set(checkedQueue(queue).name, 'all')
  return watched
}
