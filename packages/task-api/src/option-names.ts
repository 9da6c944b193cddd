/** Refuses unknown names in options and creations, because JavaScript would silently ignore a misspelt name. */
import { nearest } from './nearest.ts'
import { TaskError } from './task-error.ts'
import { cutText, invalid } from './task-limits.ts'

/** The names that one kind of object may have. Made by `optionNames`. */
export interface OptionNames {
  /** The function or object to which the names belong, such as `page`, for the text of errors. */
  readonly of: string
  /** How errors call a name. */
  readonly each: 'option' | 'field'
  readonly known: ReadonlySet<string>
}

/**
 * Lists the names of an options type. The compiler checks that no name is missing and none is unknown.
 *
 * @example
 * const names = optionNames<StopOptions>('stop', { graceMs: true, abortMs: true })
 */
export function optionNames<Options extends object>(
  of: string,
  names: Readonly<Record<keyof Options & string, true>>,
  each: OptionNames['each'] = 'option',
): OptionNames {
  return { of, each, known: new Set(Object.keys(names)) }
}

/**
 * Refuses an object that has an unknown name, inherited names included. Undefined passes. The cost is one look into a set for each name.
 *
 * @param at a prefix for the name in the error, such as `creations[3].`
 * @throws TaskError ARGUMENT_INVALID, with the unknown name in `data.argument`, and a similar known one in `data.suggestion`
 * @example
 * checkNames(names, { grace: 5 })   // grace is no option of stop: did you mean graceMs?
 */
export function checkNames(names: OptionNames, given: object | undefined, at = ''): void {
  if (given === undefined) return
  if (typeof given !== 'object' || given === null) throw invalid(`${at}options`, given, `of ${names.of} must be an object`)
  let isEmpty = true
  // No hasOwn: inherited options are read as well.
  // oxlint-disable-next-line guard-for-in
  for (const name in given) {
    isEmpty = false
    if (!names.known.has(name)) throw unknownName(names, given, name, at)
  }
  // What a map has in it would be ignored, as it is no property.
  if (isEmpty && isCollection(given))
    throw invalid(`${at}options`, given, `of ${names.of} must be an object, such as { ${[...names.known][0]}: … }`)
}

function isCollection(given: object): boolean {
  return Array.isArray(given) || given instanceof Map || given instanceof Set || given instanceof Date || given instanceof Promise
}

/**
 * Refuses unknown names, as `checkNames`, and also undefined: for options of which one at least must be given.
 *
 * @throws TaskError ARGUMENT_INVALID
 */
export function checkGiven(names: OptionNames, given: object): void {
  if (given === undefined) throw invalid('options', given, `of ${names.of} must be an object`)
  checkNames(names, given)
}

function unknownName({ of, each, known }: OptionNames, given: object, name: string, at: string): TaskError {
  const suggestion = meant(name, known)
  const argument = `${at}${cutText(name, 100)}`
  return new TaskError(
    'ARGUMENT_INVALID',
    `${argument} is no ${each} of ${of}: ${suggestion ? `did you mean ${suggestion}?` : `it has ${[...known].join(', ')}`}`,
    { argument, value: (given as Readonly<Record<string, unknown>>)[name], ...(suggestion && { suggestion }) },
  )
}

/** The known name that is similar, or that begins or ends with the given one, as `graceMs` begins with `grace`. */
function meant(name: string, known: ReadonlySet<string>): string | undefined {
  const lower = name.toLowerCase()
  const part = (whole: string): boolean => whole.toLowerCase().startsWith(lower) || whole.toLowerCase().endsWith(lower)
  return nearest(name, known) ?? (name.length > 2 ? [...known].find(part) : undefined)
}

/**
 * Refuses unknown options. For functions that are called once; functions that are called for each task use `checkNames`.
 *
 * @param whose the name of the function, for the text of the error
 * @param names every known option
 * @throws TaskError ARGUMENT_INVALID, naming the first unknown option
 */
export function checkOptions<Options extends object>(
  whose: string,
  options: Options,
  names: Readonly<Record<keyof Options & string, true>>,
): void {
  checkNames(optionNames<Options>(whose, names), options)
}
