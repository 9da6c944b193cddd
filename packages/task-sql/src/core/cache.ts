import { render } from './statement.ts'
import type { Statement } from './statement.ts'

/** Values that are made once for each key. A cache that has reached its capacity drops all of its values. */
export class Cache<Key, Value> {
  readonly #values = new Map<Key, Value>()
  readonly #capacity: number

  constructor(capacity: number = Infinity) {
    this.#capacity = capacity
  }

  get(key: Key, make: (key: Key) => Value): Value {
    const known = this.#values.get(key)
    if (known !== undefined) return known
    if (this.#values.size >= this.#capacity) this.#values.clear()
    const made = make(key)
    this.#values.set(key, made)
    return made
  }
}

/**
 * A value for each owner. It is made when first asked for, and is collected with its owner. Owners are objects of drivers: the
 * value is not written on them, because they may be frozen or a proxy.
 */
export function perOwner<Owner extends object, Value>(make: (owner: Owner) => Value): (owner: Owner) => Value {
  const values = new WeakMap<Owner, Value>()
  return (owner) => {
    let value = values.get(owner)
    if (value === undefined) values.set(owner, (value = make(owner)))
    return value
  }
}

/** Makes a value of a statement's texts. For a statement that is `reused` the value is made once and kept. */
export function perTexts<Made>(make: (texts: readonly string[]) => Made): (statement: Statement) => Made {
  const kept = perOwner(make)
  return ({ texts, reused }) => (reused ? kept(texts) : make(texts))
}

/** Renders statements for one driver, with its placeholder for each value, counted from 1. */
export function renderer(placeholder: (position: number) => string): (statement: Statement) => string {
  return perTexts((texts) => render({ texts }, placeholder))
}
