/** A promise, and the tests that are evidence for it. */

/** The tests of one part of a promise: `file#part of a test's name`, or a whole file. */
export interface Evidence {
  /** One of these is enough, as engines that fail in different ways have different tests. */
  readonly anyOf: readonly string[]
  /** Whether each engine has tests of its own in the file. Then a test of one engine is not missing on another. */
  readonly own?: boolean
}

export interface Guarantee {
  readonly promise: string
  readonly tests: readonly (string | Evidence)[]
}

/** Tests of the same promise, in different words on different engines. */
export function anyOf(...references: readonly string[]): Evidence {
  return { anyOf: references }
}

/** A file whose tests differ from engine to engine. */
export function own(reference: string): Evidence {
  return { anyOf: [reference], own: true }
}

export function evidenceOf(tests: Guarantee['tests']): Evidence[] {
  return tests.map((test) => (typeof test === 'string' ? { anyOf: [test] } : test))
}
