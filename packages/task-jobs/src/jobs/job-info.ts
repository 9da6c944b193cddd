import type { TaskInfo, TaskReason, TaskState } from '@taskstream/task-api'
import type { AnyJob } from '../definitions/define-job.ts'
import type { JobTags } from '../definitions/task-settings.ts'
import { idOf, tagsOf } from '../definitions/job-ref.ts'
import { keyOf } from '../definitions/sub-keys.ts'

/**
 * The state of a job: that of its task, but that a job which waits for its time is `delayed`, or `retrying` if it was tried before, and one that waits
 * for others is `blocked`.
 */
export type JobState = TaskState | 'delayed' | 'retrying' | 'blocked'

/** Everything that is known of a job. Instants are by the database's clock. */
export interface JobInfo<Name extends string = string, Given = unknown> {
  readonly job: Name
  /** The caller's own name for the job, or `@` and its sequence. */
  readonly id: string
  /** What the job is about; undefined if it is defined without a key. */
  readonly key: string | undefined
  /**
   * The input as it was given, in the version of its push. It is not checked, so that a job can be looked at whose input fits no more. Undefined if it
   * is no JSON.
   */
  readonly input: Given
  readonly state: JobState
  /** Why it has its state, where that does not say so: `cancelled`, `deadline`, `tries`, `timeout`, `terminated`, `unreachable`, `lease`. */
  readonly reason: TaskReason | undefined
  readonly tries: number
  readonly tags: JobTags
  readonly created: Date
  /** The instant before which it is not handled. */
  readonly due: Date | undefined
  /** The error of the last try that failed, or the message of a decision. */
  readonly output: string | undefined
  /** The task of the job, with all its columns. */
  readonly task: TaskInfo
}

/** A job that was looked at by itself. */
export interface JobDetails<Name extends string = string, Given = unknown, End = unknown> extends JobInfo<Name, Given> {
  /** What the job has returned, or the last of those that went on with its work. It is not checked. Undefined before that, and if nothing was. */
  readonly result: End | undefined
}

export function infoOf<Name extends string, Given>(
  { name, settings }: AnyJob & { readonly name: Name },
  task: TaskInfo,
): JobInfo<Name, Given> {
  const { identifier, input, reason, tries, created, due, output } = task
  return {
    job: name,
    id: idOf(task),
    key: settings.key && keyOf(settings, identifier),
    input: parsed(input) as Given,
    state: stateOf(task),
    reason,
    tries,
    tags: tagsOf(task),
    created,
    due,
    output,
    task,
  }
}

export function stateOf({ state, due, tries, blocked }: TaskInfo): JobState {
  if (blocked) return 'blocked'
  if (state !== 'suspended' || due === undefined) return state
  return tries === 0 ? 'delayed' : 'retrying'
}

/** @returns undefined if the text is no JSON */
export function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
