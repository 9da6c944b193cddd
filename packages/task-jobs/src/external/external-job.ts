/** What handlers outside the program share: the job as they are given it, and how their answer ends it. */
import { jsonOf, TaskDecision, TaskDecisionError, TaskError } from '@taskstream/task-api'
import type { HeldJob } from '../handling/held-job.ts'

/** What is passed on of a job to a program or a service. */
export type ExternalJob = Pick<
  HeldJob<never>,
  'name' | 'id' | 'key' | 'input' | 'tries' | 'attempt' | 'maxTries' | 'deadline' | 'tags' | 'hasOutput' | 'signal' | 'task'
>

/** A handler for jobs of any definition. The answer is the job's output if the job has one, and is checked by its schema. */
export type ExternalHandler = (job: ExternalJob) => Promise<TaskDecision>

/**
 * The job as JSON. What the job does not have is null, so that each field is always there.
 *
 * @throws TaskDecisionError ends the job if JSON cannot express what the schema has made of its input, as that will be so at the next try
 */
export function textOfJob(job: ExternalJob): string {
  const { id, name, key = null, input = null, tries, attempt, maxTries = null, deadline = null, tags } = job
  try {
    return jsonOf(name, { id, name, key, input, tries, attempt, maxTries, deadline, tags })
  } catch (error) {
    throw terminated(error)
  }
}

/**
 * Ends a job with an answer.
 *
 * @param answer how messages call the answer, such as `What "python3" has printed`
 * @throws TaskError OUTPUT_INVALID if the job has an output, and the answer is no JSON in UTF-8
 */
export function answered({ name, hasOutput }: ExternalJob, bytes: Uint8Array, answer: string): TaskDecision {
  if (!hasOutput) return TaskDecision.success()
  const issue = bytes.length === 0 ? 'is empty' : 'is no JSON in UTF-8'
  try {
    // Whether the value is the output is up to the schema of the job, by which every handler's is checked.
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as TaskDecision
  } catch {
    // The parser's message quotes the answer, which may have secrets.
    throw new TaskError('OUTPUT_INVALID', `${answer} ${issue}: the job "${name}" is defined with an output`, {
      name,
      issues: [issue],
    })
  }
}

/** Fails a job whatever tries are left: the next would fail too. */
export function terminated(error: unknown): TaskDecisionError {
  return new TaskDecisionError(TaskDecision.failure(error).because('terminated'))
}

/** How messages call a job. */
export function titleOf({ name, id }: ExternalJob): string {
  return `the job "${name}" ${id}`
}
