import { checkNames, invalid, TaskError } from '@taskstream/task-api'
import type { Execution, TaskCreation } from '@taskstream/task-api'
import { checkMiddleware, jobNameOf, JobRoutes, routedHandler } from '@taskstream/task-jobs'
import type { AnyJob, InProcess, JobEnvironment, JobMiddleware, JobSignatures, Queue, RouteHandler } from '@taskstream/task-jobs'
import type { ProcessOptions } from '@taskstream/task-processor'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import { checkedQueue } from './definitions.ts'
import type { Definition } from './definitions.ts'
import { given } from './given.ts'
import { JobNeeds } from './job-needs.ts'
import { JobVerbs } from './job-verbs.ts'
import { loopOf } from './loop-options.ts'
import { routeNames } from './stream-options.ts'
import type { HandleOptions } from './stream-options.ts'
import { said } from './words.ts'

/** A queue whose jobs this process handles. */
interface HandledQueue<Transaction> {
  readonly queue: Queue
  readonly routes: JobRoutes<Transaction>
}

/** What a stream is told before it starts: what handles its jobs. */
export abstract class JobHandlers<Transaction, E extends Execution = 'async'> extends JobVerbs<Transaction, E> {
  /** What is handled and processed, by name. */
  protected readonly handled: Map<string, Definition> = new Map()
  protected readonly needs: JobNeeds<Transaction, E>
  readonly #middleware: JobMiddleware<Transaction>[] = []
  readonly #queues: Map<string, HandledQueue<Transaction>> = new Map()
  readonly #limiter: unknown

  constructor(tasks: SqlTaskRepository<Transaction, E>, process: InProcess, signatures: JobSignatures, limiter: unknown) {
    super(tasks, process, signatures)
    this.#limiter = limiter
    this.needs = new JobNeeds(tasks, (work) => this.transaction(work))
  }

  /** Whether handlers may still be added. */
  protected abstract get isNew(): boolean

  protected abstract get isStopped(): boolean

  /** Whether a transaction can be given up while a handler still uses it. */
  protected abstract get closesAbandoned(): boolean

  protected abstract processed(queue: Queue, options: ProcessOptions<Transaction>): void

  /**
   * Puts a middleware around the handling of all jobs of this stream, also of those that are handled already. The first is the outermost. The option
   * `use` of `handle` has middleware for one job, inside of these. Typed topics have none.
   *
   * @throws TaskError ARGUMENT_INVALID; LIFECYCLE if the stream was started
   * @example
   * stream.use(async (job, next) => {
   *   try {
   *     return await next()
   *   } finally {
   *     console.log(job.name, job.id)
   *   }
   * })
   */
  use(middleware: JobMiddleware<Transaction>): this {
    if (typeof middleware !== 'function') throw invalid('middleware', middleware, 'must be a function (job, next) => …')
    if (!this.isNew) throw new TaskError('LIFECYCLE', 'Middleware must be added before the stream starts')
    this.#middleware.push(middleware)
    return this
  }

  /**
   * Handles the jobs of a queue by their names, and says how its loop runs. A route is the name of a job, or a prefix that ends in `*`. The name counts
   * first, then the longest prefix. A job that `handle` handles is a route too. One without any route fails its try with ROUTE_MISSING, and is tried
   * again, perhaps by a process that has a route.
   *
   * @param routes handlers of jobs that this process has no definition of. They are given the input as it is stored
   * @param options of all jobs of the queue in this process; `use` is inside the middleware of the stream
   * @throws TaskError ARGUMENT_INVALID; LIFECYCLE if the queue has its routes already, or the stream was started
   * @example
   * stream.route(mail, { 'email:*': ({ name, input, signal }) => forward(name, input, { signal }) }, { concurrency: 50 })
   */
  route(
    queue: Queue,
    routes: Readonly<Record<string, RouteHandler<Transaction>>>,
    options: HandleOptions<Transaction> = {},
  ): this {
    const { name } = checkedQueue(queue)
    checkNames(routeNames, options)
    if (typeof routes !== 'object' || routes === null) throw invalid('routes', routes, 'must be an object of handlers by names')
    if (!this.isNew) throw this.#tooLate(`The queue "${name}" must be routed`, { queue: name })
    if (this.handled.get(name) === queue)
      throw new TaskError('LIFECYCLE', `The queue "${name}" is routed already: give all its routes in one call`, { queue: name })
    this.signatures.checkCanVerify(queue)
    const handled = this.#handledQueue(queue)
    for (const [pattern, handler] of Object.entries(routes)) {
      handled.routes.check(pattern)
      if (typeof handler !== 'function')
        throw invalid('handler', handler, `of the route "${pattern}" of the queue "${name}" must be a function`)
    }
    this.#open(handled, options)
    for (const [pattern, handler] of Object.entries(routes)) handled.routes.add(pattern, handler)
    return this
  }

  /** What handlers of jobs need of the stream. */
  protected environment(): JobEnvironment<Transaction> {
    type Push = JobEnvironment<Transaction>['repository']['push']
    // In a queue, the topic is not the name that the error is about.
    const push = (transaction: Transaction, topic: string, creation: TaskCreation): unknown =>
      said('job', jobNameOf(creation) ?? topic, () => this.tasks.push(transaction, topic, creation))
    const { depend } = this.tasks as unknown as JobEnvironment<Transaction>['repository']
    return {
      repository: { push: push as Push, depend },
      needed: this.needs.needed,
      process: this.process,
      closesAbandoned: this.closesAbandoned,
      signatures: this.signatures,
      middleware: this.#middleware,
    }
  }

  /** Handles a job of a queue, whose loop is that of all its jobs. */
  protected handledInQueue(job: AnyJob, handler: RouteHandler<Transaction>, options: HandleOptions<Transaction>): this {
    const queue = job.settings.queue!
    const { use = [], ...others } = options
    for (const [option, value] of Object.entries(given(others)))
      throw invalid(option, value, `must be given where its queue is routed: stream.route(${queue.name}, {}, { ${option} })`)
    checkMiddleware(use)
    const handled = this.#handledQueue(queue)
    handled.routes.add(job.name, handler, job, use)
    this.needs.handled(job)
    this.#queues.set(queue.name, handled)
    this.handled.set(job.name, job)
    return this
  }

  /** Opens the loops of queues that no call of `route` has opened. */
  protected openQueues(): void {
    for (const handled of this.#queues.values()) if (!this.handled.has(handled.queue.name)) this.#open(handled, {})
  }

  /** @throws TaskError LIFECYCLE if the stream was started, or handles this already */
  protected checkNew({ name, settings: { what } }: Definition, verb: 'handled' | 'processed'): void {
    if (!this.isNew) throw this.#tooLate(`The ${what} "${name}" must be ${verb}`, { [what]: name })
    const other = this.handled.get(name)?.settings.what
    if (other === undefined) return
    const why =
      other === what ? `is ${verb} already` : `has the name of a ${other} that is there already: define it by another name`
    throw new TaskError('LIFECYCLE', `The ${what} "${name}" ${why}`, { [what]: name })
  }

  #tooLate(must: string, data: Readonly<Record<string, string>>): TaskError {
    const advice = this.isStopped ? '. This one was stopped, and does not start again: make a new one' : ''
    return new TaskError('LIFECYCLE', `${must} before the stream starts${advice}`, data)
  }

  #open({ queue, routes }: HandledQueue<Transaction>, options: HandleOptions<Transaction>): void {
    this.process.knows(queue)
    const { handling, loop } = loopOf(options, this.#limiter)
    this.processed(queue, {
      ...loop,
      handler: routedHandler(this.environment(), routes.of, handling),
      retry: routes.retry,
      ...queue.settings.topic,
      ...given({ limits: queue.settings.limits?.stored }),
    })
    this.#queues.set(queue.name, { queue, routes })
  }

  #handledQueue(queue: Queue): HandledQueue<Transaction> {
    const { name } = queue
    const handled = this.#queues.get(name) ?? { queue, routes: new JobRoutes<Transaction>(queue) }
    if (handled.queue !== queue)
      throw invalid('queue', name, 'is defined twice: define a queue once, and import it where it is needed')
    return handled
  }
}
