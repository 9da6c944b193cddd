/** The identifiers of jobs of which several of a key are handled at a time: the key and a suffix, where one job of each identifier is handled at a time. */
import { invalid, taskLimits } from '@taskstream/task-api'

/** So many turns are kept, whatever the number of keys. */
const places = 4_096
const suffixed = /^(.+)~\d{1,2}$/s

/** The sub-keys of each key: `key~0`, `key~1` and so on. A key may itself have such an end. */
export class SubKeys {
  /** How many sub-keys a key has. */
  readonly count: number
  /** Whose turn is next. Keys whose hashes are equal share a place, and so their turns. */
  readonly #turns: Uint8Array
  readonly #longestKey: number

  /** @param count 2 to 100 */
  constructor(count: number) {
    this.count = count
    // Otherwise all processes would begin with the same sub-key.
    this.#turns = Uint8Array.from({ length: places }, () => Math.floor(Math.random() * count))
    this.#longestKey = taskLimits.identifierLength - suffix(count - 1).length
  }

  /** The sub-key whose turn it is. @throws TaskError ARGUMENT_INVALID if the key is empty or too long */
  next(key: string): string {
    this.#check(key)
    const place = placeOf(key)
    const turn = this.#turns[place]!
    this.#turns[place] = (turn + 1) % this.count
    return `${key}${suffix(turn)}`
  }

  /** All sub-keys of a key, in the order of their numbers. @throws TaskError ARGUMENT_INVALID if the key is empty or too long */
  of(key: string): readonly string[] {
    this.#check(key)
    return Array.from({ length: this.count }, (_, turn) => `${key}${suffix(turn)}`)
  }

  #check(key: string): void {
    if (key.length === 0) throw invalid('key', key, 'must not be empty')
    const { length } = key
    if (length > this.#longestKey)
      throw invalid('key', key, `must have at most ${this.#longestKey} characters beside the suffix of perKey, and has ${length}`)
  }
}

/** The key of a job whose task has this identifier. */
export function keyOf({ subKeys }: { readonly subKeys?: SubKeys | undefined }, identifier: string): string {
  return subKeys ? withoutSuffix(identifier) : identifier
}

/** The key of a sub-key. An identifier that has no suffix stays as it is. */
export function withoutSuffix(identifier: string): string {
  return suffixed.exec(identifier)?.[1] ?? identifier
}

function suffix(turn: number): string {
  return `~${turn}`
}

function placeOf(key: string): number {
  let hash = 0
  for (let index = 0; index < key.length; index++) hash = Math.imul(hash, 31) + key.charCodeAt(index)
  return ((hash ^ (hash >>> 16)) >>> 0) % places
}
