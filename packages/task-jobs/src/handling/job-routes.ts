import { invalid, TaskError, taskLimits } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import type { RetryPolicy } from '@taskstream/task-processor'
import { withAskedPause } from '../definitions/asked-pause.ts'
import type { AnyJob, JobSettings } from '../definitions/define-job.ts'
import { defineJob } from '../definitions/define-job.ts'
import type { Queue } from '../definitions/define-queue.ts'
import type { JobHandler } from './held-job.ts'
import { jobNameOf } from '../definitions/job-name.ts'
import { json } from '../definitions/json.ts'
import type { JobMiddleware } from './middleware.ts'

/** Handles jobs of any name. The input is not checked: it is what their JSON says. */
export type RouteHandler<Transaction> = JobHandler<Transaction, string, unknown, string, unknown>

/** What handles a job. */
export interface JobRoute<Transaction> {
  readonly job: AnyJob
  readonly handle: RouteHandler<Transaction>
  /** The middleware of this job alone. */
  readonly use: readonly JobMiddleware<Transaction>[]
  /** Whether the job may go on with any other, as no definition says with which. */
  readonly isOpen: boolean
}

/** A route of a name, whose definition this process has, or of a pattern, which makes a definition for each name. */
type Route<Transaction> = Omit<JobRoute<Transaction>, 'job' | 'isOpen'> & { readonly job: AnyJob | undefined }

/** So many routes are named in an error at most. */
const mostNamed = 20

/** The handlers of a queue, by the names of its jobs. */
export class JobRoutes<Transaction> {
  readonly #queue: Queue
  readonly #exact: Map<string, Route<Transaction>> = new Map()
  /** The handlers of patterns by what stands before their `*`, the longest first. */
  #prefixes: readonly (readonly [prefix: string, Route<Transaction>])[] = []

  constructor(queue: Queue) {
    this.#queue = queue
  }

  /** Refuses what cannot be added. @throws TaskError ARGUMENT_INVALID; LIFECYCLE if there is such a route already */
  check(pattern: string): void {
    const { name } = this.#queue
    const prefix = pattern.slice(0, -1)
    if (pattern === '' || pattern.length > taskLimits.topicLength + 1 || prefix.includes('*'))
      throw invalid('route', pattern, `of the queue "${name}" must be the name of a job, or a prefix that ends in *`)
    const isThere = pattern.endsWith('*') ? this.#prefixes.some(([known]) => known === prefix) : this.#exact.has(pattern)
    if (isThere)
      throw new TaskError('LIFECYCLE', `The queue "${name}" has a route "${pattern}" already`, { queue: name, pattern })
  }

  /** @param job undefined for jobs that this process has no definition of. @throws as `check` */
  add(pattern: string, handle: RouteHandler<Transaction>, job?: AnyJob, use: readonly JobMiddleware<Transaction>[] = []): void {
    this.check(pattern)
    const route = { job, handle, use }
    if (!pattern.endsWith('*')) this.#exact.set(pattern, route)
    else
      this.#prefixes = [...this.#prefixes, [pattern.slice(0, -1), route] as const].toSorted(
        ([left], [right]) => right.length - left.length,
      )
  }

  /** The route of a job: that of its name, or else that of its longest prefix. @throws TaskError ROUTE_MISSING */
  readonly of = (task: HeldTask): JobRoute<Transaction> => {
    const name = jobNameOf(task)
    const route = name === undefined ? undefined : this.#find(name)
    if (!route || name === undefined) throw this.#missing(name)
    const { job, handle, use } = route
    return { job: job ?? this.#undefined(name, task), handle, use, isOpen: job === undefined }
  }

  /** When a job is tried again: as its definition says, or else its queue. */
  readonly retry: RetryPolicy = (task, error, draw) => {
    const name = jobNameOf(task)
    const { job } = (name === undefined ? undefined : this.#exact.get(name)) ?? {}
    return (job ? job.settings.retry : this.#retry)(task, error, draw)
  }

  get #retry(): RetryPolicy {
    return withAskedPause(this.#queue.settings.retry ?? defaults.retry)
  }

  #find(name: string): Route<Transaction> | undefined {
    return this.#exact.get(name) ?? this.#prefixes.find(([prefix]) => name.startsWith(prefix))?.[1]
  }

  /** Stands for the definition of a job that this process does not have. */
  #undefined(name: string, { input }: HeldTask): AnyJob {
    const queue = this.#queue
    const settings: JobSettings = {
      ...defaults,
      queue,
      signed: queue.settings.signed,
      retry: this.#retry,
      timeoutMs: queue.settings.timeoutMs,
      limits: queue.settings.limits,
      subKeys: queue.settings.subKeys,
      input: input === undefined ? undefined : json(),
      // No job is pushed by this definition: that there is a function says that the jobs have keys.
      key: queue.settings.topic.keyed ? () => name : undefined,
      topic: queue.settings.topic,
    }
    return { name, settings }
  }

  #missing(name: string | undefined): TaskError {
    const { name: queue } = this.#queue
    const routes = [...[...this.#exact.keys()].toSorted(), ...this.#prefixes.map(([prefix]) => `${prefix}*`)]
    const named = routes.slice(0, mostNamed).map((route) => `"${route}"`)
    const rest = routes.length > mostNamed ? ` and ${routes.length - mostNamed} more` : ''
    const what = name === undefined ? `a task without a name in its header "job"` : `the job "${name}"`
    return new TaskError(
      'ROUTE_MISSING',
      `No route of this process handles ${what} in the queue "${queue}": there is ${named.join(', ') || 'none'}${rest}. Handle the job, or add a route such as "*"`,
      { queue, job: name, routes },
    )
  }
}

const defaults: JobSettings = defineJob('defaults').settings
