/** What is promised, and which tests stand for it. */

/** Tests of one part of a promise: `file#part of a test's name`, or a whole file. */
export interface Evidence {
  /** Any of these: engines that fail in different ways have tests of their own. */
  readonly anyOf: readonly string[]
  /** Each engine has tests of its own in the file, as many as it has drivers or ways to fail: none is missed elsewhere. */
  readonly own?: boolean
}

export interface Guarantee {
  readonly promise: string
  readonly tests: readonly (string | Evidence)[]
}

/** The same promise, tested in different words on different engines. */
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
