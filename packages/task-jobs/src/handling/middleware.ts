import { invalid, TaskError } from '@taskstream/task-api'
import type { TaskDecision } from '@taskstream/task-api'
import type { HeldJob, JobCommit, JobContinuation } from './held-job.ts'

declare const handled: unique symbol

/** What the handler has returned, as `next` hands it on. It has a type of its own, so that a middleware which forgets to return it does not compile. */
export interface JobReturn {
  readonly [handled]: true
}

/** A job of any definition that is being handled. */
export type AnyHeldJob<Transaction> = HeldJob<Transaction, string, unknown, string, unknown>

/**
 * Does something around the handling of jobs. `next` runs what is inside: the next middleware, and in the end the handler. Call it once and return what
 * it returns, or a decision of your own. What the outermost middleware returns counts as if the handler returned it. So the job succeeds if a
 * middleware catches what the handler threw and returns. A job whose input does not fit fails before any middleware.
 *
 * @example
 * stream.use(async (job, next) => {
 *   const begunMs = performance.now()
 *   try {
 *     return await next()
 *   } finally {
 *     histogram.record(performance.now() - begunMs, { job: job.name })
 *   }
 * })
 */
export type JobMiddleware<Transaction> = (
  job: AnyHeldJob<Transaction>,
  next: () => Promise<JobReturn>,
) => MiddlewareOutcome<Transaction> | Promise<MiddlewareOutcome<Transaction>>

export type MiddlewareOutcome<Transaction> = JobReturn | JobCommit<Transaction> | JobContinuation | TaskDecision

/** @throws TaskError ARGUMENT_INVALID unless the option `use` is a list of functions */
export function checkMiddleware(middleware: unknown): void {
  if (!Array.isArray(middleware) || middleware.some((one) => typeof one !== 'function'))
    throw invalid('use', middleware, 'must be a list of functions (job, next) => …')
}

/**
 * Runs the middleware of a try, the first outermost, around its handler.
 *
 * @returns what the outermost returned. @throws what it threw; TaskError LIFECYCLE if one calls `next` twice, or returns before `next` has ended
 */
export async function throughMiddleware<Transaction>(
  middleware: readonly JobMiddleware<Transaction>[],
  job: AnyHeldJob<Transaction>,
  handle: () => unknown,
): Promise<unknown> {
  const misuse = (what: string): TaskError =>
    new TaskError('LIFECYCLE', `A middleware of the job "${job.name}" ${what}`, { job: job.name, task: job.task })
  let open = 0
  let isOver = false
  const ended = (): void => void open--
  const run = async (index: number): Promise<unknown> => {
    const one = middleware[index]
    if (!one) return handle()
    let isCalled = false
    return one(job, () => {
      if (isCalled) throw misuse('called next twice: a try is handled once')
      if (isOver) throw misuse('called next after the try had ended')
      isCalled = true
      open++
      const outcome = run(index + 1)
      // Without this, an error that the middleware does not wait for would end the process.
      outcome.then(ended, ended)
      return outcome as Promise<JobReturn>
    })
  }
  try {
    const outcome = await run(0)
    // The handler would work on while its job counts as done.
    if (open > 0) throw misuse('returned before next had ended: write `return next()`, or await it')
    return outcome
  } finally {
    isOver = true
  }
}
