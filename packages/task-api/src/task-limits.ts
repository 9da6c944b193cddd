import { TaskError } from './task-error.ts'

/** The greatest values that the verbs accept. Lengths are in UTF-16 code units, the unit of `string.length`. */
export const taskLimits = {
  topicLength: 250,
  identifierLength: 500,
  referenceLength: 500,
  externalIdLength: 500,
  ownerNameLength: 200,
  /** A name with its incarnation. */
  ownerLength: 250,
  releaseLength: 100,
  fingerprintLength: 20,
  traceLength: 64,
  noteLength: 500,
  actorLength: 250,
  /** Keep a larger payload in storage of its own, and use its address as the input. */
  inputLength: 16_777_216,
  /** A longer message is cut, as people read it, not programs. */
  outputLength: 65_536,
  headersLength: 65_536,
  /** Tasks of one push, one completion or one page. */
  batchSize: 100_000,
  pollSize: 10_000,
  /** A hundred years. */
  durationMs: 3_153_600_000_000,
  tries: 32_767,
  priority: 32_767,
} as const

const firstInstant = Date.parse('0001-01-01T00:00:00Z')
const lastInstant = Date.parse('9999-12-31T23:59:59.999Z')

/** @throws TaskError ARGUMENT_INVALID unless `value` is well-formed text of 1 to `maximum` characters without NUL. */
export function checkText(argument: string, value: unknown, maximum: number): asserts value is string {
  if (typeof value !== 'string') throw invalid(argument, value, 'must be a string')
  if (value.length === 0) throw invalid(argument, value, 'must not be empty')
  checkStorable(argument, value, maximum)
}

/** @throws TaskError ARGUMENT_INVALID unless `value` is well-formed text of at most `maximum` characters without NUL. It may be empty. */
export function checkStorable(argument: string, value: unknown, maximum: number): asserts value is string {
  if (typeof value !== 'string') throw invalid(argument, value, 'must be a string')
  if (value.length > maximum) throw invalid(argument, value, `must have at most ${maximum} characters, and has ${value.length}`)
  // PostgreSQL can store neither of these, and text that one engine cannot store is refused on all of them.
  if (value.includes('\0')) throw invalid(argument, value, 'must not contain a NUL character (\\0)')
  if (!value.isWellFormed()) throw invalid(argument, value, 'must not contain an unpaired surrogate: it is not valid Unicode')
}

/** @throws TaskError ARGUMENT_INVALID unless `value` is a whole number from `minimum` to `maximum`. */
export function checkInteger(argument: string, value: unknown, minimum: number, maximum: number): asserts value is number {
  if (!Number.isInteger(value) || (value as number) < minimum || (value as number) > maximum) {
    throw invalid(argument, value, `must be a whole number from ${minimum} to ${maximum}`)
  }
}

/** @throws TaskError ARGUMENT_INVALID unless `value` is whole milliseconds, 0 to 100 years. */
export function checkDuration(argument: string, value: unknown): asserts value is number {
  checkInteger(argument, value, 0, taskLimits.durationMs)
}

/** @throws TaskError ARGUMENT_INVALID unless `value` is a valid `Date` in the years 1 to 9999, which every engine can store. */
export function checkInstant(argument: string, value: unknown): asserts value is Date {
  const ms = value instanceof Date ? msOf(value) : Number.NaN
  if (Number.isNaN(ms)) throw invalid(argument, value, 'must be a valid Date')
  if (ms < firstInstant || ms > lastInstant) throw invalid(argument, new Date(ms).toISOString(), 'must be in the years 1 to 9999')
}

/** Not a number for an object that only inherits from `Date`. */
function msOf(date: Date): number {
  try {
    return date.getTime()
  } catch {
    return Number.NaN
  }
}

/** @throws TaskError ARGUMENT_INVALID unless `topic` can be the name of a topic: 1 to 250 characters. */
export function checkTopic(topic: unknown): asserts topic is string {
  checkText('topic', topic, taskLimits.topicLength)
}

/** The error for an invalid argument. Its message names the argument, the rule and the value. */
export function invalid(argument: string, value: unknown, rule: string): TaskError {
  return new TaskError('ARGUMENT_INVALID', `${cutText(argument, 200)} ${rule}: ${preview(value)}`, { argument, value })
}

/** Cuts a text to at most `maximum` characters. A cut text ends in an ellipsis, and surrogate pairs stay whole. */
export function cutText(text: string, maximum: number): string {
  if (text.length <= maximum) return text
  const high = /[\uD800-\uDBFF]/.test(text.charAt(maximum - 2))
  return `${text.slice(0, high ? maximum - 2 : maximum - 1)}…`
}

/** How many characters a message shows of a value. */
const shown = 58

/** Shows the beginning of a value. Of a long one no more is looked at, and no value can make this fail. */
function preview(value: unknown): string {
  if (typeof value === 'string') return cutText(JSON.stringify(value.slice(0, shown + 2)), shown)
  // A long number takes long to be written in digits.
  if (typeof value === 'bigint' && BigInt.asIntN(128, value) !== value) return 'a bigint of more than 128 bits'
  try {
    return cutText(String(Array.isArray(value) ? value.slice(0, shown + 2) : value), shown)
  } catch {
    // The value cannot be made a text, such as a list with a symbol, or its own code throws.
    return `a value of type ${typeof value}`
  }
}
