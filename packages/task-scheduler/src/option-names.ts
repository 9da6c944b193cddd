import { checkNames as check, optionNames } from '@taskstream/task-api'

/**
 * Refuses options that do not exist: in JavaScript a slip of the pen would be passed over.
 *
 * @param names every option that there is
 * @throws TaskError ARGUMENT_INVALID, naming the first that is none
 */
export function checkNames<Options extends object>(
  whose: string,
  options: Options,
  names: Readonly<Record<keyof Options & string, true>>,
): void {
  check(optionNames<Options>(whose, names), options)
}
