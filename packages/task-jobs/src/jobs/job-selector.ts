import { invalid } from '@taskstream/task-api'
import type { PushedTask, TaskSelector } from '@taskstream/task-api'
import { topicOf } from '../definitions/define-queue.ts'
import type { JobRef } from '../definitions/job-ref.ts'
import type { TaskDefinition } from '../definitions/task-settings.ts'

/** Names jobs of one definition: one by its id or its reference, or all of a key. */
export type JobSelector<Name extends string = string> = string | JobRef<Name> | { readonly key: string }

/** @returns as `identifier` the key, of which several identifiers may be made. @throws TaskError ARGUMENT_INVALID */
export function taskSelectorOf(definition: TaskDefinition, selector: JobSelector | PushedTask): TaskSelector {
  const { name, settings } = definition
  const { what } = settings
  if (typeof selector === 'string') {
    if (!selector.startsWith('@')) return { externalId: selector }
    const sequence = Number(selector.slice(1))
    if (!/^@\d{1,16}$/.test(selector) || !Number.isSafeInteger(sequence))
      throw invalid('id', selector, 'must be a name without @ in front, or @ and a sequence')
    return sequence
  }
  if (typeof selector !== 'object' || selector === null) throw noSelector(what, selector)
  if ('sequence' in selector) {
    if (selector.topic !== topicOf(definition))
      throw invalid('selector', selector.sequence, `must be of the ${what} "${name}", and is of "${selector.topic}"`)
    return selector.sequence
  }
  const unknown = Object.keys(selector).find((field) => field !== 'key')
  if (unknown !== undefined || typeof selector.key !== 'string') throw noSelector(what, selector)
  if (!settings.topic.keyed)
    throw invalid('key', selector.key, `cannot be looked for: the ${what} "${name}" is defined without a key`)
  return { identifier: selector.key }
}

function noSelector(what: string, selector: unknown): Error {
  return invalid('selector', selector, `must be the id of a ${what === 'job' ? 'job' : 'task'}, its reference, or { key }`)
}
