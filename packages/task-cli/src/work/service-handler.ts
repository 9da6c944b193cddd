/** A service as the handler of tasks: each is a request, and its answer is a reply. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { httpRequest, idOf, tagsOf } from '@taskstream/task-jobs'
import type { ExternalJob, HttpRequestOptions } from '@taskstream/task-jobs'
import type { HandleTask } from './task-handler.ts'

export interface ServiceOptions extends HttpRequestOptions {
  /** Whether the answer is JSON that the task returns. */
  readonly value: boolean
}

/** @throws TaskError ARGUMENT_INVALID */
export function serviceHandler({ value, ...options }: ServiceOptions): HandleTask {
  const ask = httpRequest(options)
  return async (task, signal) => {
    const answer: unknown = await ask(jobOf(task, signal, value))
    return value ? TaskDecision.success().withValue(JSON.stringify(answer)) : (answer as TaskDecision)
  }
}

/** The task as a job, as services are told of one. Nothing here knows how jobs of this name are defined. */
function jobOf(task: HeldTask, signal: AbortSignal, hasOutput: boolean): ExternalJob {
  const { topic, identifier, input, tries, attempt, maxTries, deadline } = task
  return {
    name: topic,
    id: idOf(task),
    key: identifier,
    input: input === undefined ? undefined : parsed(input),
    tries,
    attempt,
    maxTries,
    deadline,
    tags: tagsOf(task),
    hasOutput,
    signal,
    task,
  }
}

/** The input of a job is JSON. That of another task may be any text. */
function parsed(input: string): unknown {
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}
