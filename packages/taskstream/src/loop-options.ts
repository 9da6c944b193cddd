import { checkInteger, invalid } from '@taskstream/task-api'
import { checkMiddleware } from '@taskstream/task-jobs'
import type { AnyJob, JobHandling } from '@taskstream/task-jobs'
import type { ProcessOptions } from '@taskstream/task-processor'
import type { HandleOptions } from './stream-options.ts'

/** How the loop of a topic of jobs polls, and how its handler takes them. */
export interface JobLoop<Transaction> {
  readonly handling: JobHandling<Transaction>
  readonly loop: Omit<ProcessOptions<Transaction>, 'handler' | 'retry'>
}

/**
 * The loop of a topic of jobs. Each job is polled by itself, so that it ends as it ends.
 *
 * @throws TaskError ARGUMENT_INVALID
 */
export function loopOf<Transaction>(options: HandleOptions<Transaction>, limiter: unknown): JobLoop<Transaction> {
  const { mode = 'leased', concurrency = mode === 'transactional' ? 2 : 10, use = [], ...others } = options
  checkMiddleware(use)
  checkInteger('concurrency', concurrency, 1, 10_000)
  // A slot of a limiter, or a transaction, is for a job that is being handled.
  const ahead = mode === 'leased' && limiter === undefined
  return {
    handling: { concurrency, ahead, use },
    loop: { share: 20, ...others, mode, ...(mode === 'transactional' && { concurrency }), size: 1 },
  }
}

/** @throws TaskError ARGUMENT_INVALID if what a job needs would be read within the transaction that has polled it: SQLite has no second one */
export function checkMode({ name, settings }: AnyJob, { mode }: Pick<HandleOptions<never>, 'mode'>): void {
  if (settings.needs && mode === 'transactional')
    throw invalid('mode', mode, `must not be given: the job "${name}" needs others, which are read in a transaction of their own`)
}
