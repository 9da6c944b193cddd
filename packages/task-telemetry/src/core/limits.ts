/** Keeps the number of series finite, whatever names there are. */
import { otherError } from './conventions.ts'

/** The name that stands for all topics beyond the limit. */
const otherTopic = '_other'

const mostTopics = 200
const mostErrors = 50

/** Lets the first so many names through, and makes one of all others. */
class Names {
  readonly #known = new Set<string>()
  readonly #most: number
  readonly #other: string

  constructor(most: number, other: string) {
    this.#most = most
    this.#other = other
  }

  of(name: string): string {
    if (this.#known.has(name)) return name
    if (this.#known.size >= this.#most) return this.#other
    this.#known.add(name)
    return name
  }
}

/** Which names of topics and errors become attributes. The first come are the ones that stay. */
export class Limits {
  readonly #topics = new Names(mostTopics, otherTopic)
  readonly #errors = new Names(mostErrors, otherError)
  readonly #rename: ((topic: string) => string) | undefined

  /** @param rename makes one name of several topics, such as those of all tenants */
  constructor(rename?: (topic: string) => string) {
    this.#rename = rename
  }

  topic(name: string): string {
    return this.#topics.of(this.#rename ? String(this.#rename(name)) : name)
  }

  error(type: string): string {
    return type === otherError ? type : this.#errors.of(type)
  }
}
