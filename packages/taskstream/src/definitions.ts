import { invalid } from '@taskstream/task-api'
import type { AnyJob } from '@taskstream/task-jobs'

/** Refuses what `defineJob` has not made. */
export function checked<SomeJob extends AnyJob>(job: SomeJob): SomeJob {
  if (typeof job?.settings?.next !== 'function')
    throw invalid('job', job, 'must be made by defineJob (the transaction comes first; submit takes none)')
  return job
}

/** The jobs, and all those with which they may go on. */
export function reachable(jobs: readonly AnyJob[], found: Map<string, AnyJob> = new Map()): Map<string, AnyJob> {
  for (const job of jobs) {
    if (found.has(job.name)) continue
    found.set(job.name, job)
    reachable(job.settings.next(), found)
  }
  return found
}
