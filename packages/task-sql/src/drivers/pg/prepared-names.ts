import { createHash } from 'node:crypto'

/** The verbs have fewer texts. */
const capacity = 1_000

/** Names under which texts are prepared. A name is a hash of its text, so it means the same text in every process. */
export class PreparedNames {
  /** Names of texts that were used more than once. A text that was used once has undefined, as a migration is not worth preparing. */
  readonly #names = new Map<string, string | undefined>()

  /** Returns the name of a text for a plan from the text's second use on, and undefined before. */
  nameOf(text: string, plan: string): string | undefined {
    const key = `${plan}: ${text}`
    const known = this.#names.get(key)
    if (known !== undefined) return known
    if (!this.#names.has(key)) {
      // Texts that were used once would fill the table for good. A text that is forgotten here gets the same name at its next second use.
      if (this.#names.size >= capacity) this.#names.clear()
      this.#names.set(key, undefined)
      return undefined
    }
    const name = `taskstream_${createHash('sha256').update(key).digest('base64url').slice(0, 22)}`
    this.#names.set(key, name)
    return name
  }
}
