/** Texts of whatever a handler says or throws. */
import type { TaskExplanation } from './task-decision.ts'
import { TaskError } from './task-error.ts'

/** The explanations that a value gives: none, itself if it is a text or an error, and otherwise its text. */
export function explain(explanation: unknown): TaskExplanation[] {
  if (explanation === undefined || explanation === null || explanation === '') return []
  if (typeof explanation === 'string') return [explanation]
  try {
    return [explanation instanceof Error ? explanation : String(explanation)]
  } catch {
    // Not every value can be made a text, and a handler may throw any.
    return [`a value of type ${typeof explanation}`]
  }
}

/** The text of an explanation, which every database can store. */
export function describe(explanation: TaskExplanation): string {
  const text = typeof explanation === 'string' ? explanation : textOfError(explanation)
  // The text of a handler must not keep its decision from being stored.
  return storable(text)
}

/** The text of whatever somebody else's code has thrown, with its stack if it has one. It never throws. */
export function thrownText(thrown: unknown): string {
  return describe(explain(thrown)[0] ?? String(thrown))
}

/** How many causes of an error are told, so that a long chain does not fill what is kept. */
const mostCauses = 5

/**
 * What has caused an error, the nearest first. Of several errors that an `AggregateError` stands for, the first is followed. An error may have been made its
 * own cause, and somebody else's error may throw when it is read.
 */
export function causesOf(error: Error): readonly Error[] {
  const chain = new Set([error])
  try {
    for (let last = error; chain.size <= mostCauses;) {
      const cause = last.cause ?? (last instanceof AggregateError ? last.errors[0] : undefined)
      if (!(cause instanceof Error) || chain.has(cause)) break
      chain.add(cause)
      last = cause
    }
  } catch {
    // What was read so far is told.
  }
  return [...chain].slice(1)
}

/**
 * The first line of an error's name and message, and that of its first cause: libraries for HTTP and SQL tell there what has happened. A text has only a first line.
 * It never throws.
 *
 * @param length how long it may be; the cause is cut last
 */
export function headlineOf(error: Error, length: number): string {
  const line = firstLine(titleOf(error))
  const root = causesOf(error).at(-1)
  const cause = root ? firstLine(titleOf(root)) : ''
  // Our own errors tell their causes themselves, and so do some others.
  if (cause === '' || error instanceof TaskError || (root!.message !== '' && line.includes(firstLine(root!.message))))
    return shortened(line, length)
  const told = `, caused by ${shortened(cause, Math.floor(length / 2))}`
  return `${shortened(line, length - told.length)}${told}`
}

function titleOf(error: Error): string {
  try {
    const { name, message } = error
    return storable(message ? `${String(name)}: ${String(message)}` : String(name))
  } catch {
    return unreadable
  }
}

function firstLine(text: string): string {
  return text.split(/[\r\n]+/, 2).find((line) => line.length > 0) ?? ''
}

/** The ellipsis is in ASCII, so that a text in ASCII stays so. No surrogate pair is cut. */
function shortened(text: string, maximum: number): string {
  return text.length <= maximum ? text : `${text.slice(0, maximum - 3).replace(/[\uD800-\uDBFF]$/, '')}...`
}

/** Databases refuse NUL and unpaired surrogates. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}

const unreadable = 'an error that cannot be read'

/** The stack of an error, with those of its causes. */
function textOfError(error: Error): string {
  return [error, ...causesOf(error)].map(stackOf).join('\nCaused by: ')
}

function stackOf(error: Error): string {
  try {
    // A stack may be empty. Oracle stores an empty text as null, so a stored explanation is never empty.
    return String(error.stack || `${error.name}: ${error.message}`)
  } catch {
    // A library may have put anything in place of a stack or a message.
    return unreadable
  }
}
