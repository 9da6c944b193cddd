/** What options, and things that are described by an object, may say: a name that nobody knows would be left out without a word. */
import { nearest } from './nearest.ts'
import { TaskError } from './task-error.ts'
import { cutText, invalid } from './task-limits.ts'

/** The names that one kind of object may have; made by `optionNames`. */
export interface OptionNames {
  /** `page`, say: whose they are. */
  readonly of: string
  /** What each is: an option, or a field. */
  readonly each: 'option' | 'field'
  readonly known: ReadonlySet<string>
}

/**
 * The names of a type. The compiler sees to it that none is missing and none too many.
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
 * Refuses what has a name that is not known, inherited ones too; undefined has none. It costs a look into a set for each name.
 *
 * @param at what stands before the names in the error: `creations[3].`
 * @throws TaskError ARGUMENT_INVALID, with the name in `data.argument`, and the one that may be meant in `data.suggestion`
 * @example
 * checkNames(names, { grace: 5 })   // grace is no option of stop: did you mean graceMs?
 */
export function checkNames(names: OptionNames, given: object | undefined, at = ''): void {
  if (given === undefined) return
  if (typeof given !== 'object' || given === null) throw invalid(`${at}options`, given, `of ${names.of} must be an object`)
  // No hasOwn: what is inherited is read as well.
  // oxlint-disable-next-line guard-for-in
  for (const name in given) if (!names.known.has(name)) throw unknownName(names, given, name, at)
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

/** The name that differs in little, or that begins or ends so: a unit was left out, or what it is a limit of. */
function meant(name: string, known: ReadonlySet<string>): string | undefined {
  const lower = name.toLowerCase()
  const part = (whole: string): boolean => whole.toLowerCase().startsWith(lower) || whole.toLowerCase().endsWith(lower)
  return nearest(name, known) ?? (name.length > 2 ? [...known].find(part) : undefined)
}

/**
 * Refuses options that do not exist, for a function that is called once, not for each task.
 *
 * @param whose the function, for the error's text
 * @param names every option that there is
 * @throws TaskError ARGUMENT_INVALID, naming the first that is none
 */
export function checkOptions<Options extends object>(
  whose: string,
  options: Options,
  names: Readonly<Record<keyof Options & string, true>>,
): void {
  checkNames(optionNames<Options>(whose, names), options)
}
