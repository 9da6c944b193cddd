import { createHash } from 'node:crypto'

/** More texts than the verbs have: each costs every connection memory on the server. */
const capacity = 200

/** Names of texts that have been used more than once; none, of those used once: a migration is not worth preparing. */
const names = new Map<string, string | undefined>()

/** The name under which a text is prepared on a connection, from its second use on. The same in every process: a name never means two texts. */
export function preparedName(text: string): string | undefined {
  const known = names.get(text)
  if (known !== undefined) return known
  if (!names.has(text)) {
    if (names.size < capacity) names.set(text, undefined)
    return undefined
  }
  const name = `taskstream_${createHash('sha256').update(text).digest('base64url').slice(0, 22)}`
  names.set(text, name)
  return name
}
