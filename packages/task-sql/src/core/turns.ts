/** Whose turn it is among the identifiers of a topic. */
import type { PollShares } from '@taskstream/task-api'
import { blockingClasses } from './states.ts'
import { toNumber } from './task-row.ts'
import type { Row } from './verb.ts'

/** The ready tasks of an identifier. */
export interface Group {
  readonly identifier: string
  readonly high: Queue
  readonly low: Queue
  readonly queues: readonly Queue[]
}

/** Where a process has left a topic. */
export interface Place {
  /** The identifier that had the last turn, or that a walk has ended with. */
  readonly identifier: string
  /** How many tasks were taken, high and low. */
  readonly taken: number
}

/** The first ready tasks of a kind, as far as they are known. */
class Queue {
  readonly known: number[]
  readonly identifier: string
  readonly stage: number
  /** The last sequence that was read. */
  last: number
  /** Whether there are no more. */
  ended: boolean

  constructor(identifier: string, stage: number, head: number | undefined) {
    this.identifier = identifier
    this.stage = stage
    this.known = head === undefined ? [] : [head]
    this.last = head ?? 0
    this.ended = head === undefined
  }

  /** @param asked there are no more if fewer than these were found */
  add(sequences: readonly number[], asked: number): void {
    this.known.push(...sequences)
    this.last = sequences.at(-1) ?? this.last
    this.ended = sequences.length < asked
  }
}

/** The group of a row with columns `identifier`, `high` and `low`; undefined if it has no ready task. */
export function toGroup({ identifier, high, low }: Row): Group | undefined {
  if (high === null && low === null) return undefined
  const name = String(identifier)
  const queueOf = (kind: 'high' | 'low', head: unknown): Queue =>
    new Queue(name, blockingClasses[kind], head === null ? undefined : toNumber(head))
  const queues = [queueOf('high', high), queueOf('low', low)] as const
  return { identifier: name, high: queues[0], low: queues[1], queues }
}

/** Groups in a ring. Each gives a task in turn: high ones and low ones in their shares. */
export class Turns {
  readonly #groups: Group[] = []
  readonly #shares: PollShares
  #taken: number
  #next = 0

  constructor(shares: PollShares, taken: number) {
    this.#shares = shares
    this.#taken = taken
  }

  /** The groups that have tasks left, or may have. */
  get left(): readonly Group[] {
    return this.#groups.filter(({ queues }) => queues.some(({ known, ended }) => known.length > 0 || !ended))
  }

  /** More groups, whose turn is next. @returns whether there are any */
  join(groups: readonly Group[]): boolean {
    this.#next = this.#groups.length
    this.#groups.push(...groups)
    return groups.length > 0
  }

  /** Takes at most so many sequences out of the queues. It stops at a group of which more must be read first. */
  choose(count: number): number[] {
    const chosen: number[] = []
    for (let passed = 0; chosen.length < count && passed < this.#groups.length;) {
      const group = this.#groups[this.#next]!
      if (group.queues.some(({ known, ended }) => known.length === 0 && !ended)) break
      this.#next = (this.#next + 1) % this.#groups.length
      const sequence = this.#taskOf(group)
      if (sequence === undefined) {
        passed++
        continue
      }
      passed = 0
      chosen.push(sequence)
    }
    return chosen
  }

  #taskOf({ high, low }: Group): number | undefined {
    const { high: highs, low: lows } = this.#shares
    const first = this.#taken % (highs + lows) < highs ? [high, low] : [low, high]
    const queue = first.find(({ known }) => known.length > 0)
    if (queue) this.#taken++
    return queue?.known.shift()
  }
}
