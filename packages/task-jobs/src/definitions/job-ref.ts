import type { HeldTask, PushedTask, TaskCreation, TaskInfo } from '@taskstream/task-api'
import { keyOf } from './sub-keys.ts'
import { isTag } from './task-settings.ts'
import type { JobTags, TaskDefinition } from './task-settings.ts'

/** A pushed job. Its `identifier` is its key, also under `limits.perKey`, where that of its task has a suffix. */
export interface JobRef<Name extends string = string> extends PushedTask {
  readonly job: Name
  /** The caller's own name for the job, or `@` and its sequence. */
  readonly id: string
}

/** The tags that a job was pushed with. A task that was pushed in another way may have anything in their place. */
export function tagsOf({ headers }: Pick<TaskInfo, 'headers'>): JobTags {
  const tags = headers?.['tags']
  if (typeof tags !== 'object' || tags === null || Array.isArray(tags)) return {}
  return Object.fromEntries(Object.entries(tags).filter((tag): tag is [string, string | number | boolean] => isTag(tag[1])))
}

/**
 * The id of a job's task: the caller's own, or `@` and its sequence. A task that was pushed in another way may have an external id with `@` in front,
 * which would name another job.
 */
export function idOf({ externalId, sequence }: Pick<HeldTask, 'externalId' | 'sequence'>): string {
  return externalId === undefined || externalId.startsWith('@') ? `@${sequence}` : externalId
}

/** Makes the reference to a job that was pushed. */
export function refOf<Name extends string>(
  { name, settings }: TaskDefinition & { readonly name: Name },
  pushed: PushedTask,
  { externalId }: TaskCreation,
): JobRef<Name> {
  const identifier = keyOf(settings, pushed.identifier)
  return { ...pushed, identifier, job: name, id: externalId ?? `@${pushed.sequence}` }
}
