import { createHash } from 'node:crypto'

/** More than the verbs have texts: each costs every connection memory on the server. */
const capacity = 400

/** Names of texts that have been used more than once; none, of those used once: a migration is not worth preparing. */
const names = new Map<string, string | undefined>()

/**
 * The name under which a text is prepared on a connection for a plan, from its second use on. The same in every process: a name never means
 * two texts.
 */
export function preparedName(text: string, plan: string): string | undefined {
  const key = `${plan}: ${text}`
  const known = names.get(key)
  if (known !== undefined) return known
  if (!names.has(key)) {
    if (names.size < capacity) names.set(key, undefined)
    return undefined
  }
  const name = `taskstream_${createHash('sha256').update(key).digest('base64url').slice(0, 22)}`
  names.set(key, name)
  return name
}
