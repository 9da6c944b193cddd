import { invalid } from '@taskstream/task-api'
import type { TaskSelector } from '@taskstream/task-api'
import type { AnyJob } from './define-job.ts'
import type { JobRef } from './push-job.ts'

/** Names jobs of one definition: one by its id or its reference, or all of a key. */
export type JobSelector<Name extends string = string> = string | JobRef<Name> | { readonly key: string }

/** @throws TaskError ARGUMENT_INVALID */
export function taskSelectorOf({ name, settings }: AnyJob, selector: JobSelector): TaskSelector {
  if (typeof selector === 'string') {
    if (!selector.startsWith('@')) return { externalId: selector }
    const sequence = Number(selector.slice(1))
    if (!/^@\d{1,16}$/.test(selector) || !Number.isSafeInteger(sequence))
      throw invalid('id', selector, 'must be a name without @ in front, or @ and a sequence')
    return sequence
  }
  if (typeof selector !== 'object' || selector === null)
    throw invalid('selector', selector, 'must be the id of a job, its reference, or { key }')
  if ('sequence' in selector) {
    if (selector.topic !== name)
      throw invalid('selector', selector.id, `must be of the job "${name}", and is of "${selector.topic}"`)
    return selector.sequence
  }
  const unknown = Object.keys(selector).find((field) => field !== 'key')
  if (unknown !== undefined || typeof selector.key !== 'string')
    throw invalid('selector', selector, 'must be the id of a job, its reference, or { key }')
  if (settings.key === undefined)
    throw invalid('key', selector.key, `cannot be looked for: the job "${name}" is defined without a key`)
  return { identifier: selector.key }
}
