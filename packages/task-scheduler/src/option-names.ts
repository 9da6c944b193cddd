import { invalid } from '@taskstream/task-api'
import { nearest } from './calendar-event/nearest.ts'

/**
 * Refuses options that do not exist: in JavaScript a slip of the pen would be passed over.
 *
 * @param names every option that there is
 * @throws TaskError ARGUMENT_INVALID, naming the first that is none
 */
export function checkNames<Options extends object>(
  whose: string,
  options: Options,
  names: Readonly<Record<keyof Options, true>>,
): void {
  if (typeof options !== 'object' || options === null) throw invalid('options', options, `of ${whose} must be an object`)
  const wrong = Object.entries(options).find(([name, value]) => value !== undefined && !Object.hasOwn(names, name))
  if (!wrong) return
  const [name, value] = wrong
  const near = nearest(name, Object.keys(names))
  const hint = near === undefined ? `, which takes ${Object.keys(names).join(', ')}` : ` (did you mean ${near}?)`
  throw invalid(name, value, `is no option of ${whose}${hint}`)
}
