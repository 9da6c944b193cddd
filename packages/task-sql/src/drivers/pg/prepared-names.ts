import { createHash } from 'node:crypto'

/** More than the verbs have texts: each costs every connection memory on the server. */
const capacity = 400

/** Under which names texts are prepared. The same in every process: a name never means two texts. */
export class PreparedNames {
  /** Names of texts that have been used more than once; none, of those used once: a migration is not worth preparing. */
  readonly #names = new Map<string, string | undefined>()

  /** The name of a text on a connection for a plan, from its second use on. */
  nameOf(text: string, plan: string): string | undefined {
    const key = `${plan}: ${text}`
    const known = this.#names.get(key)
    if (known !== undefined) return known
    if (!this.#names.has(key)) {
      // Full, it names nothing more: what connections have prepared they keep.
      if (this.#names.size < capacity) this.#names.set(key, undefined)
      return undefined
    }
    const name = `taskstream_${createHash('sha256').update(key).digest('base64url').slice(0, 22)}`
    this.#names.set(key, name)
    return name
  }
}
