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

/** A turn of a group, and the task that was chosen for it. */
export interface Turn {
  readonly group: Group
  /** The turns of a poll are numbered. */
  readonly at: number
  readonly sequence: number
}

/** Groups in a ring. Each gives a task in turn: high ones and low ones in their shares. */
export class Turns {
  readonly #groups: Group[] = []
  readonly #shares: PollShares
  #taken: number
  #next = 0
  #at = 0
  /** Turns of which others have taken the task. These groups give another task before the ring goes on. */
  #owed: readonly Turn[] = []

  constructor(shares: PollShares, taken: number) {
    this.#shares = shares
    this.#taken = taken
  }

  /** The groups whose turn is next, and that have tasks left, or may have. */
  get left(): readonly Group[] {
    const owed = new Set(this.#due().map(({ group }) => group))
    return owed.size > 0 ? [...owed] : this.#groups.filter(hasMore)
  }

  /** More groups, whose turn is next. @returns whether there are any */
  join(groups: readonly Group[]): boolean {
    this.#next = this.#groups.length
    this.#groups.push(...groups)
    return groups.length > 0
  }

  /** How many turns there are before the ring goes on; 0 if it goes on now. */
  get owed(): number {
    return this.#due().length
  }

  /** Takes at most so many tasks out of the queues. It stops at a group of which more must be read first. */
  choose(count: number): Turn[] {
    const chosen: Turn[] = []
    const owed = this.#due()
    const size = owed.length || this.#groups.length
    for (let passed = 0, step = 0; chosen.length < count && passed < size; step++) {
      const again = owed[step % size]
      const group = again?.group ?? this.#groups[this.#next]!
      if (group.queues.some(({ known, ended }) => known.length === 0 && !ended)) break
      if (!again) this.#next = (this.#next + 1) % size
      const sequence = this.#taskOf(group)
      passed = sequence === undefined ? passed + 1 : 0
      if (sequence !== undefined) chosen.push({ group, at: again?.at ?? this.#at++, sequence })
    }
    return chosen
  }

  /** Hears which of the chosen tasks were taken. @returns whether others have the rest */
  took(chosen: readonly Turn[], taken: Pick<ReadonlySet<number>, 'has'>): boolean {
    const missed = chosen.filter(({ sequence }) => !taken.has(sequence))
    const done = new Set(chosen.filter(({ sequence }) => taken.has(sequence)).map(({ at }) => at))
    this.#owed = (this.#owed.length > 0 ? this.#owed : missed).filter(({ at }) => !done.has(at))
    return missed.length > 0
  }

  #due(): readonly Turn[] {
    this.#owed = this.#owed.filter(({ group }) => hasMore(group))
    return this.#owed
  }

  #taskOf({ high, low }: Group): number | undefined {
    const { high: highs, low: lows } = this.#shares
    const first = this.#taken % (highs + lows) < highs ? [high, low] : [low, high]
    const queue = first.find(({ known }) => known.length > 0)
    if (queue) this.#taken++
    return queue?.known.shift()
  }
}

function hasMore({ queues }: Group): boolean {
  return queues.some(({ known, ended }) => known.length > 0 || !ended)
}
