import { cutText, isTaskError } from '@taskstream/task-api'
import type { NodeTrouble } from '@taskstream/task-api'

const messageLength = 500

/** Makes of an error what is told of it to everybody who may look at processes. */
export function toTrouble(activity: string, error: unknown): NodeTrouble {
  return { activity, message: masked(textOf(error)), since: new Date(), ...(isTaskError(error) && { code: error.code }) }
}

/** The code of a thrown value may throw itself, as a getter does. */
function textOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message) : String(error)
  } catch {
    return 'an error without a text'
  }
}

/** What is between two slashes and the last at sign of an address. A password may have any character in it. */
const credentials = /(?<=:\/\/)\S*@/g
/** What follows the name of a secret, as in `password=x`, `"token": "x"` or `PGPASSWORD='a b'`. */
const secrets =
  /((?:pass(?:word|wd|phrase|code)?|pwd|secret|token|api[-_]?key|access[-_]?key|credentials?)["']?\s*[=:]\s*)("(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^\s,;&)}\]]+)/gi

/** The text of a driver's error may have an address with a password in it, and characters that no database keeps. */
function masked(message: string): string {
  const short = cutText(message, 4 * messageLength)
  return cutText(
    short.replaceAll(credentials, '…@').replaceAll(secrets, '$1…').toWellFormed().replaceAll('\0', '\uFFFD'),
    messageLength,
  )
}
