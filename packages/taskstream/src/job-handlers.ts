import { invalid, TaskError } from '@taskstream/task-api'
import type { Execution } from '@taskstream/task-api'
import type { JobMiddleware } from '@taskstream/task-jobs'
import type { Definition } from './definitions.ts'
import { JobVerbs } from './job-verbs.ts'

/** What a stream is told before it starts: what handles its jobs. */
export abstract class JobHandlers<Transaction, E extends Execution = 'async'> extends JobVerbs<Transaction, E> {
  /** What is handled and processed, by name. */
  protected readonly handled: Map<string, Definition> = new Map()
  /** The middleware around all jobs, the first outermost. */
  protected readonly middleware: JobMiddleware<Transaction>[] = []

  /** Whether handlers may still be added. */
  protected abstract get isNew(): boolean

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
    this.middleware.push(middleware)
    return this
  }

  /** @throws TaskError LIFECYCLE if the stream was started, or handles this already */
  protected checkNew({ name, settings: { what } }: Definition, verb: 'handled' | 'processed'): void {
    if (!this.isNew)
      throw new TaskError('LIFECYCLE', `The ${what} "${name}" must be ${verb} before the stream starts`, { [what]: name })
    if (this.handled.has(name)) throw new TaskError('LIFECYCLE', `The ${what} "${name}" is ${verb} already`, { [what]: name })
  }
}
