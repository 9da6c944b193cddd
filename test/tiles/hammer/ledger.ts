/** What each process of the hammer did, line by line in a file of its own: a process that is killed has said all that it did. */
import { openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** Microseconds of the one monotonic clock of this machine, the same in every process. */
export function nowUs(): number {
  return Number(process.hrtime.bigint() / 1_000n)
}

/** A committed push of tasks `<source>-<first>` to `<source>-<first + count - 1>`; `gone` are those of a savepoint that was rolled back. */
interface PushSaid {
  readonly k: 'push'
  readonly source: string
  readonly begin: number
  readonly end: number
  readonly first: number
  readonly count: number
  readonly gone: readonly number[]
  /** Whether the transaction stayed open for a while after its push. */
  readonly isLate: boolean
}
/** A committed poll: sequence, identifier and attempt of each task. */
interface PollSaid {
  readonly k: 'poll'
  readonly begin: number
  readonly end: number
  readonly owner: string
  readonly tasks: readonly (readonly [number, string, number])[]
}
/** A committed completion, and how many it lost. */
interface DoneSaid {
  readonly k: 'done'
  readonly end: number
  readonly won: readonly (readonly [number, number])[]
  readonly begin: number
  readonly lost: number
}
interface TouchedSaid {
  readonly k: 'touched'
  readonly what: string
  readonly identifiers: readonly string[]
}
interface CountSaid {
  readonly k: 'count'
  readonly what: string
  readonly n: number
}
interface BrokenSaid {
  readonly k: 'broken'
  readonly what: string
}
export type Said = PushSaid | PollSaid | DoneSaid | TouchedSaid | CountSaid | BrokenSaid

export class Ledger {
  readonly #file: number

  constructor(folder: string, name: string) {
    this.#file = openSync(join(folder, `${name}.jsonl`), 'a')
  }

  say(said: Said): void {
    writeSync(this.#file, `${JSON.stringify(said)}\n`)
  }
}

/** All that was said. The last line of a killed process may be half a line. */
export function* readLedgers(folder: string): Generator<Said> {
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.jsonl'))) {
    for (const line of readFileSync(join(folder, name), 'utf8').split('\n')) {
      if (line.endsWith('}')) yield JSON.parse(line) as Said
    }
  }
}
