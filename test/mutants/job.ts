/** The orders for the process that runs tests, and its answers. */

export interface Job {
  /** Ends the process. The other fields do not count then. */
  readonly end?: true
  /** The active mutant, or 0 for none. */
  readonly active: number
  /** The number of mutants. */
  readonly mutants: number
  readonly file: string
  /** Identifiers of vitest's tests. Undefined for all tests of the file. */
  readonly tests?: readonly string[]
  /** Whether to stop at the first test that fails. */
  readonly bail: boolean
  readonly testTimeoutMs: number
  /** How many milliseconds `expect.poll` waits for a fact. */
  readonly factTimeoutMs: number
}

export interface TestResult {
  readonly id: string
  readonly name: string
  /** The suites around the test, from the outermost in. */
  readonly suites: readonly string[]
  readonly passed: boolean
  readonly ms: number
  readonly error?: string
}

export interface Answer extends Reached {
  /** The memory of the process in bytes. It grows, because modules that are loaded anew leave the old ones behind. */
  readonly memory: number
  readonly tests: readonly TestResult[]
  /** An error outside of tests, if there was one. */
  readonly failed?: string | undefined
}

/** The mutants whose places were reached. */
export interface Reached {
  /** While the file was loaded. */
  readonly onLoad: readonly number[]
  /** By the test, by the suite of a hook, and under the empty name by the hooks of the file. */
  readonly byTask: Readonly<Record<string, readonly number[]>>
  /** Whether the active mutant's place was reached. */
  readonly active: boolean
}
