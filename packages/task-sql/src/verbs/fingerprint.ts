/** Tells errors of one kind from those of another, whatever ids and numbers they have. */
import { createHash } from 'node:crypto'

/** The fingerprint of all attempts that were lost with their owners. */
export const lostFingerprint = 'lost'

/** How much of a line is looked at. A longer one has a payload in it. */
const lineLength = 500

/** What differs between errors of one kind. Each pattern reads a text once, from left to right. */
const varying: readonly RegExp[] = [
  /[a-z][a-z0-9+.-]*:\/\/[^\s'"<>]+/gi,
  /[^\s@'"<>]+@[^\s@'"<>]+/g,
  /'[^']*'|"[^"]*"|`[^`]*`/g,
  /\b(?:0x[0-9a-f]+|(?=[a-f-]*\d)[0-9a-f][0-9a-f-]{5,})\b/gi,
  // A status tells what is wrong, whereas a count or a key does not.
  /(?<!\b(?:HTTP|status|code|errno)[ :=]{1,2})(?<!\d)\d+/gi,
]

/**
 * The fingerprint of an error: of its first line without what varies, and of the first function of its stack that is not a package's. Two releases have the
 * same fingerprint, although their lines have other numbers. 16 characters.
 */
export function fingerprintOf(line: string, stack: unknown): string {
  let kind = line.slice(0, lineLength)
  for (const pattern of varying) kind = kind.replace(pattern, '*')
  return hashed(`${kind}\n${frameOf(stack)}`)
}

/**
 * The fingerprint of an error whose kind the program names itself. An answer that is no text, an empty one, and an error of the program's own function
 * leave it to `fingerprintOf`: an attempt that cannot be grouped as asked is recorded all the same.
 */
export function givenFingerprint(kindOf: KindOf, error: Error): string | undefined {
  try {
    const kind = kindOf(error)
    return typeof kind === 'string' && kind !== '' ? hashed(kind) : undefined
  } catch {
    return undefined
  }
}

/** Names what kind of error this is. */
export type KindOf = (error: Error) => string | undefined

function hashed(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 16)
}

/** The function and the file of the first frame that is the program's own; empty if the stack has none. */
function frameOf(stack: unknown): string {
  // A program may have set its own way to make stacks, which then need not be texts.
  const frames = typeof stack === 'string' ? stack.slice(0, 8_000).split('\n') : []
  const own = frames.find((frame) => /^\s+at /.test(frame) && !/node_modules|node:/.test(frame))
  const [, name = '', file = ''] = /^\s+at (?:(.*) \()?(?:.*[\\/])?([^\\/]*?)(?::\d+)*\)?$/.exec(own ?? '') ?? []
  return `${name} ${file}`
}
