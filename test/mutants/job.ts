/** What the process that runs tests is asked, and what it answers. */

export interface Job {
  /** Nothing else is asked. */
  readonly end?: true
  /** The mutant that the sources are; 0: none. */
  readonly active: number
  /** How many mutants there are. */
  readonly mutants: number
  readonly file: string
  /** Identifiers of vitest; undefined: all of the file. */
  readonly tests?: readonly string[]
  /** Ends with the first test that fails. */
  readonly bail: boolean
  readonly testTimeoutMs: number
  /** How long `expect.poll` waits for a fact. */
  readonly factTimeoutMs: number
}

export interface TestResult {
  readonly id: string
  readonly name: string
  /** What it is in, from the outermost on. */
  readonly suites: readonly string[]
  readonly passed: boolean
  readonly ms: number
  readonly error?: string
}

export interface Answer extends Reached {
  /** What the process takes, in bytes: modules that are loaded anew leave the old ones behind. */
  readonly memory: number
  readonly tests: readonly TestResult[]
  /** What failed outside of tests. */
  readonly failed?: string | undefined
}

/** The mutants whose place was reached. */
export interface Reached {
  /** While the file was loaded. */
  readonly onLoad: readonly number[]
  /** In each test, in the hooks of each suite, and, under no name, in those of the file. */
  readonly byTask: Readonly<Record<string, readonly number[]>>
  /** Whether the active one was. */
  readonly active: boolean
}
