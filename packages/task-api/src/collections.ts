/** Checks collections that callers give: JavaScript says of a wrong one only that something is no function. */
import { checkInteger, invalid, taskLimits } from './task-limits.ts'
import type { Task } from './task.ts'

/**
 * Lists values of a caller. Of an iterator that never ends, no more are taken than one call may have.
 *
 * @throws TaskError ARGUMENT_INVALID
 */
export function listOf<Value>(argument: string, values: Iterable<Value>): Value[] {
  if (typeof (values as Partial<Iterable<Value>> | null | undefined)?.[Symbol.iterator] !== 'function')
    throw invalid(argument, values, 'must be a list, or another iterable')
  const list: Value[] = []
  if (Array.isArray(values)) {
    checkInteger(`the number of ${argument}`, values.length, 0, taskLimits.batchSize)
    return [...(values as readonly Value[])]
  }
  for (const value of values) if (list.push(value) > taskLimits.batchSize) break
  checkInteger(`the number of ${argument}`, list.length, 0, taskLimits.batchSize)
  return list
}

/** @param what what it maps, for the text of the error. @throws TaskError ARGUMENT_INVALID unless `value` is a map, of this realm or another */
export function checkMap(argument: string, value: ReadonlyMap<unknown, unknown>, what: string): void {
  const { get, keys, values } = Object(value) as Partial<ReadonlyMap<unknown, unknown>>
  if (typeof get !== 'function' || typeof keys !== 'function' || typeof values !== 'function')
    throw invalid(argument, value, `must be a Map ${what}`)
}

/** Whether a value has what every task has. */
export function isTask(value: Task): boolean {
  return (
    Number.isSafeInteger(value?.sequence) &&
    typeof value.topic === 'string' &&
    typeof value.identifier === 'string' &&
    value.identifier.length <= taskLimits.identifierLength
  )
}
