/** Errors about options whose values may be secrets, and stay out of messages and of `data`. */
import { checkNames, cutText, invalid, TaskError } from '@taskstream/task-api'
import type { OptionNames } from '@taskstream/task-api'

/** @throws TaskError ARGUMENT_INVALID, without any value, unless options are given and their names are known */
export function checkSecretNames(names: OptionNames, options: object): void {
  if (typeof options !== 'object' || options === null)
    throw invalid('options', typeof options, `of ${names.of} must be an object`)
  checkNames(names, Object.fromEntries(Object.keys(options).map((name) => [name, undefined])))
}

/** The error for a value that is not shown. */
export function secretInvalid(argument: string, rule: string): TaskError {
  return new TaskError('ARGUMENT_INVALID', `${cutText(argument, 200)} ${rule}`, { argument })
}
