/** Texts of whatever a handler says or throws. */
import type { TaskExplanation } from './task-decision.ts'

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
  // Databases refuse NUL and unpaired surrogates. The text of a handler must not keep its decision from being stored.
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}

/** The text of whatever somebody else's code has thrown, with its stack if it has one. It never throws. */
export function thrownText(thrown: unknown): string {
  return describe(explain(thrown)[0] ?? String(thrown))
}

function textOfError(error: Error): string {
  try {
    // A stack may be empty. Oracle stores an empty text as null, so a stored explanation is never empty.
    return String(error.stack || `${error.name}: ${error.message}`)
  } catch {
    // A library may have put anything in place of a stack or a message.
    return 'an error that cannot be read'
  }
}
