/** How jobs have ended, for those who wait for them or look at them. */
import { readInput, TaskError } from '@taskstream/task-api'
import type { Task, TaskEnding } from '@taskstream/task-api'
import type { AnyJob } from '@taskstream/task-jobs'
import { parsed, topicOf } from '@taskstream/task-jobs'
import { reachable } from './definitions.ts'
import type { JobEnding } from './job-waiter.ts'

/**
 * The result of a job that was waited for, as the schema of the job that has returned it makes it.
 *
 * @throws TaskError TASK_STATE if the job is not there; JOB_ENDED if it has ended without success; OUTPUT_INVALID
 */
export function resultOf(job: AnyJob, id: string, ending: JobEnding | undefined): unknown {
  const { name } = job
  if (!ending) throw noJob(name, id)
  const { state, reason, output, task, value } = ending
  const last = ending.job ?? (task.topic === topicOf(job) ? name : task.topic)
  const what =
    last === name ? `The job "${name}" ${id}` : `The job "${last}" @${task.sequence}, as which "${name}" ${id} went on,`
  if (state !== 'succeeded') {
    const why = output === undefined ? '' : `: ${output.split('\n')[0]}`
    throw new TaskError('JOB_ENDED', `${what} has ended: ${[state, reason].filter(Boolean).join(', ')}${why}`, {
      job: last,
      id: last === name ? id : `@${task.sequence}`,
      state,
      reason,
      output,
    })
  }
  const settings = reachable([job]).get(last)?.settings
  const schema = settings?.what === 'job' ? settings.output : undefined
  return schema ? readInput(schema, last, value, 'output') : parsed(value)
}

export function noJob(job: string, id: string): TaskError {
  return new TaskError(
    'TASK_STATE',
    `There is no job "${job}" that is called ${id}: was it purged, or is the transaction that pushes it not committed?`,
    { job, id },
  )
}

/** What went on elsewhere cannot begin anew here: the work would be done twice. @throws TaskError TASK_STATE */
export function checkNotContinued(job: AnyJob, { sequence }: Task, ending: TaskEnding | undefined): void {
  const { name } = job
  const { task } = ending ?? {}
  if (!task || (task.topic === topicOf(job) && task.sequence === sequence)) return
  throw new TaskError(
    'TASK_STATE',
    `The job "${name}" @${sequence} has gone on as "${task.topic}" @${task.sequence}: retry that one`,
    { job: name, id: `@${sequence}`, next: task },
  )
}

export function waitsTooLong(job: string, id: string, timeoutMs: number): TaskError {
  return new TaskError('WAIT_TIMEOUT', `The job "${job}" ${id} has not ended after ${timeoutMs} ms, and goes on`, {
    job,
    id,
    timeoutMs,
  })
}
