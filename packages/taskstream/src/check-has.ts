import { invalid } from '@taskstream/task-api'

/**
 * Refuses what is no connection of the library, before the first transaction fails in words that name no argument.
 *
 * @param method a method that only a connection of the library has
 * @throws TaskError ARGUMENT_INVALID, which tells the value's type alone: a text is the address of a database, with its password
 */
export function checkHas(value: unknown, method: string, name: string, what: string): void {
  const found = (value as Readonly<Record<string, unknown>> | null | undefined)?.[method]
  if (typeof found !== 'function') throw invalid(name, value === null ? 'null' : typeof value, `must be ${what}`)
}
