import { invalid } from '@taskstream/task-api'

/** The options that were given, without those that are undefined. */
export function given<Options extends object>(options: Options): { [Name in keyof Options]: Exclude<Options[Name], undefined> } {
  const named = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(named) as { [Name in keyof Options]: Exclude<Options[Name], undefined> }
}

/**
 * Refuses what are no options, before they are taken apart.
 *
 * @param example of options that must be given
 * @throws TaskError ARGUMENT_INVALID
 */
export function checkedOptions<Options extends object>(options: Options, example = ''): Options {
  if (typeof options === 'object' && options !== null) return options
  throw invalid('options', options, `must be an object${example && `, such as ${example}`}`)
}
