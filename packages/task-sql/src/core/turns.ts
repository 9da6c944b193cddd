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
  /** Whether it is the first one of all: with it a lap begins. */
  readonly isFirst: boolean
}

/** Where a process has left a topic. */
export interface Place {
  /** The identifier that had the last turn, or that a walk has ended with. */
  readonly identifier: string
  /** How often the turn has come round. */
  readonly lap: number
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
export function toGroup({ identifier, high, low }: Row): Omit<Group, 'isFirst'> | undefined {
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
  readonly queue: Queue
  /** The turns of a poll are numbered. */
  readonly at: number
  readonly lap: number
  readonly sequence: number
}

/**
 * Groups in a ring. Each gives a task in turn: high ones and low ones in their shares. For these the laps are counted. If the tasks were, the fifth of five
 * groups would have all turns of low ones.
 */
export class Turns {
  readonly #groups: Group[] = []
  readonly #shares: PollShares
  #lap: number
  #next = 0
  #at = 0
  /** The index of the group with which a lap begins. */
  #first = 0
  #hasBegun = false
  /** Turns of which others have taken the task. These groups give another task before the ring goes on. */
  #owed: readonly Turn[] = []

  constructor(shares: PollShares, lap: number) {
    this.#shares = shares
    this.#lap = lap
  }

  /** The groups whose turn is next, and that have tasks left, or may have. */
  get left(): readonly Group[] {
    const owed = new Set(this.#due().map(({ group }) => group))
    return owed.size > 0 ? [...owed] : this.#groups.filter(hasMore)
  }

  /** More groups, whose turn is next. @returns whether there are any */
  join(groups: readonly Group[]): boolean {
    this.#next = this.#groups.length
    const first = groups.findIndex(({ isFirst }) => isFirst)
    if (first >= 0) this.#first = this.#next + first
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
      const { at, lap } = again ?? this.#goOn()
      const queue = this.#queueOf(group, lap)
      passed = queue ? 0 : passed + 1
      if (queue) chosen.push({ group, queue, at, lap, sequence: queue.known.shift()! })
    }
    return chosen
  }

  /** Gives the next group its turn. */
  #goOn(): Pick<Turn, 'at' | 'lap'> {
    // Where this poll begins, a lap does so only if the last poll has come to the end of all.
    if (this.#next === this.#first && (this.#hasBegun || this.#groups[this.#next]!.isFirst)) this.#lap++
    this.#hasBegun = true
    this.#next = (this.#next + 1) % this.#groups.length
    return { at: this.#at++, lap: this.#lap }
  }

  /**
   * Hears which of the chosen tasks were taken, at most `limit` of them. What stands behind the last of these is there for a later choice.
   *
   * @returns whether others have some
   */
  took(chosen: readonly Turn[], taken: Pick<ReadonlySet<number>, 'has'>, limit: number): boolean {
    const own = chosen.filter(({ sequence }) => taken.has(sequence))
    const tried = own.length < limit ? chosen.length : chosen.lastIndexOf(own.at(-1)!) + 1
    for (const { queue, sequence } of chosen.slice(tried).toReversed()) queue.known.unshift(sequence)
    const missed = chosen.slice(0, tried).filter(({ sequence }) => !taken.has(sequence))
    const done = new Set(own.map(({ at }) => at))
    this.#owed = (this.#owed.length > 0 ? this.#owed : missed).filter(({ at }) => !done.has(at))
    return missed.length > 0
  }

  #due(): readonly Turn[] {
    this.#owed = this.#owed.filter(({ group }) => hasMore(group))
    return this.#owed
  }

  #queueOf({ high, low }: Group, lap: number): Queue | undefined {
    const { high: highs, low: lows } = this.#shares
    const first = lap % (highs + lows) < highs ? [high, low] : [low, high]
    return first.find(({ known }) => known.length > 0)
  }
}

function hasMore({ queues }: Group): boolean {
  return queues.some(({ known, ended }) => known.length > 0 || !ended)
}
