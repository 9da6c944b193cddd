/** Changes of arguments: a part anywhere in them is replaced, taken out, or given a name that nobody knows. */
import * as fc from 'fast-check'
import { CallersOwn, wild, wildKeys, wildNames } from './wild.ts'

export interface Mutation {
  readonly kind: 'replace' | 'remove' | 'add' | 'getter'
  /** Which of the parts, counted through all of them. */
  readonly part: number
  /** The name of a wild value. */
  readonly value: string
  readonly key: string
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.oneof(
    { weight: 12, arbitrary: fc.constant('replace' as const) },
    { weight: 1, arbitrary: fc.constantFrom('remove' as const, 'add' as const, 'getter' as const) },
  ),
  part: fc.nat(1_000),
  value: fc.constantFrom(...wildNames),
  key: fc.constantFrom(...wildKeys),
})

/** None to three changes. Every sixth case has none, and is valid. */
export const mutations: fc.Arbitrary<readonly Mutation[]> = fc.oneof(
  { weight: 1, arbitrary: fc.constant([]) },
  { weight: 4, arbitrary: fc.tuple(mutation) },
  { weight: 1, arbitrary: fc.array(mutation, { minLength: 2, maxLength: 3 }) },
)

type Path = readonly (string | number)[]

/** Changes arguments. What they share with others stays as it is. */
export function mutated(given: readonly unknown[], changes: readonly Mutation[]): unknown[] {
  const paths = pathsOf(given)
  if (paths.length === 0) return [...given]
  return changes.reduce<unknown[]>(
    (args, change) => changed(args, paths[change.part % paths.length]!, change) as unknown[],
    [...given],
  )
}

function pathsOf(value: unknown, at: Path = [], found: Path[] = []): Path[] {
  if (at.length > 0) found.push(at)
  if (at.length > 5 || found.length > 200) return found
  if (value === globalThis) return found
  if (isList(value))
    for (let index = 0; index < Math.min(value.length, 20); index++) pathsOf(valueAt(value, index), [...at, index], found)
  else if (isPlain(value)) for (const key of Object.keys(value).slice(0, 30)) pathsOf(valueAt(value, key), [...at, key], found)
  return found
}

/** The value of a property, without a call of its getter. */
function valueAt(value: object, key: string | number): unknown {
  return Object.getOwnPropertyDescriptor(value, key)?.value
}

function changed(value: unknown, [key, ...rest]: Path, change: Mutation): unknown {
  if (key === undefined) return added(value, change)
  // Another change may have taken this away.
  if (!isList(value) && !isPlain(value)) return value
  const copy = copyOf(value)
  if (rest.length > 0 || change.kind === 'add') put(copy, key, changed(valueAt(value, key), rest, change))
  else if (change.kind === 'replace') put(copy, key, wild(change.value))
  // Another change may have put a list here, whose length stays.
  else if (change.kind === 'remove') Reflect.deleteProperty(copy, key)
  else
    Reflect.defineProperty(copy, key, {
      enumerable: true,
      configurable: true,
      get: () => {
        throw new CallersOwn()
      },
    })
  return copy
}

function added(value: unknown, { key, value: name }: Mutation): unknown {
  return isPlain(value) ? put(copyOf(value), key, wild(name)) : wild(name)
}

/** Copies the getters too, without a call of them. A copy of what is frozen is not. */
function copyOf(value: object): object {
  const copy: object = isList(value) ? Object.assign([], { length: value.length }) : {}
  for (const [key, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
    const thawed =
      'value' in descriptor ? { ...descriptor, writable: true, configurable: true } : { ...descriptor, configurable: true }
    if (key !== 'length' || !isList(value)) Object.defineProperty(copy, key, thawed)
  }
  return copy
}

function put(target: object, key: string | number, value: unknown): object {
  // The length of a list cannot be defined anew.
  if (Object.getOwnPropertyDescriptor(target, key)?.configurable === false) return target
  return Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
}

function isList(value: unknown): value is unknown[] {
  try {
    return Array.isArray(value)
  } catch {
    return false
  }
}

function isPlain(value: unknown): value is Record<string, unknown> {
  try {
    return (
      typeof value === 'object' &&
      value !== null &&
      Object.getPrototypeOf(value) === Object.prototype &&
      !('texts' in value) &&
      !isDefinition(value)
    )
  } catch {
    return false
  }
}

/** What the product has made and frozen is passed as it is. */
function isDefinition(value: object): boolean {
  return Object.isFrozen(value) && Object.keys(value).length > 0
}
