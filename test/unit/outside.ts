/** Jobs for handlers outside the program, and what has become of their tries. */
import { carriedDecision } from '@taskstream/task-api'
import type { TaskDecision } from '@taskstream/task-api'
import type { ExternalHandler, ExternalJob } from 'taskstream'
import { taskOf } from './answering.ts'

export function jobOf(more: Partial<ExternalJob> = {}): ExternalJob {
  return {
    name: 'render',
    id: 'order 7',
    key: undefined,
    input: { to: 'ann' },
    tries: 1,
    attempt: 2,
    maxTries: undefined,
    deadline: undefined,
    tags: {},
    hasOutput: false,
    signal: new AbortController().signal,
    task: taskOf('render', 4711),
    ...more,
  }
}

/** What has become of a try: `success`, what the handler has returned, or its error, and whether there may be another try. */
export async function outcomeOf(handler: ExternalHandler, job: ExternalJob): Promise<unknown> {
  try {
    const returned: TaskDecision = await handler(job)
    return job.hasOutput ? returned : returned.result
  } catch (error) {
    const decision = carriedDecision(error)
    return decision ? { [`${decision.result}, ${decision.reason}`]: decision.explanations[0] } : error
  }
}
