import { checkInteger, checkText, invalid, taskLimits } from './task-limits.ts'

/**
 * Names tasks of one topic: one or several by their sequences, one by its external id, or all of an identifier. Identifiers are looked up in keyed
 * topics only.
 */
export type TaskSelector =
  | number
  | readonly number[]
  | { readonly externalId: string; readonly identifier?: never }
  | { readonly identifier: string; readonly externalId?: never }

/** Checks a selector. @throws TaskError ARGUMENT_INVALID, naming what is wrong */
export function checkSelector(selector: unknown): asserts selector is TaskSelector {
  if (typeof selector === 'number') return checkInteger('sequence', selector, 0, Number.MAX_SAFE_INTEGER)
  if (Array.isArray(selector)) {
    checkInteger('the number of sequences', selector.length, 0, taskLimits.batchSize)
    for (const [index, sequence] of selector.entries()) checkInteger(`sequences[${index}]`, sequence, 0, Number.MAX_SAFE_INTEGER)
    return
  }
  const { externalId, identifier, ...rest } = Object(selector) as Record<string, unknown>
  if (typeof selector !== 'object' || Object.keys(rest).length > 0 || (externalId === undefined) === (identifier === undefined))
    throw invalid('selector', selector, 'must be a sequence, a list of sequences, { externalId } or { identifier }')
  if (externalId === undefined) checkText('identifier', identifier, taskLimits.identifierLength)
  else checkText('externalId', externalId, taskLimits.externalIdLength)
}
