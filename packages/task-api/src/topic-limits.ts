import { checkNames, optionNames } from './option-names.ts'
import type { Execution, Outcome } from './execution.ts'
import { checkInteger, checkText, invalid, taskLimits } from './task-limits.ts'

/** What is done with a push to a topic that has as many entries as it may have. */
const whenFull = ['reject', 'drop-oldest'] as const

/** Limits of a topic. All processes that use the topic keep them together: the database has them. */
export interface TopicLimits {
  /** How many tasks may be active at a time, 1 to 1 000 000. Processors keep it; a single `poll` does not. */
  readonly total?: number
  /** How many tasks processors may poll: `count` at once, 1 to 1 000 000, and then as many in each `perMs`, evenly. */
  readonly rate?: { readonly count: number; readonly perMs: number }
  /**
   * How many tasks may be ready, delayed, blocked or active, 1 to 10 000 000. `admit` keeps it, which pushes of jobs call. `drop-oldest` filters the oldest
   * tasks that nobody handles, with the reason `dropped`, to make room for new ones.
   */
  readonly maxEntries?: { readonly count: number; readonly whenFull?: (typeof whenFull)[number] }
  /** The topic to which a copy is pushed of each task that has failed, in the transaction in which it fails. */
  readonly deadLetter?: string
}

/** What a processor asks for: how many tasks of the topic it holds, and how many it could hold. */
export interface SlotWish {
  readonly held: number
  readonly wanted: number
}

export interface SlotGrant {
  /** How many tasks this owner may hold. Undefined if the topic has no `total`. */
  readonly slots: number | undefined
}

export interface TokenGrant {
  /** How many tasks may be polled now. */
  readonly taken: number
  /** After how many milliseconds the next one may be polled, if not all were granted. */
  readonly nextMs?: number
}

const names = optionNames<TopicLimits>('limits', { total: true, rate: true, maxEntries: true, deadLetter: true })
const rateNames = optionNames<NonNullable<TopicLimits['rate']>>('a rate', { count: true, perMs: true })
const entriesNames = optionNames<NonNullable<TopicLimits['maxEntries']>>('maxEntries', { count: true, whenFull: true })

/** @throws TaskError ARGUMENT_INVALID */
export function checkLimits(topic: string, limits: TopicLimits): void {
  checkObject('limits', limits, '{ total: 10 }')
  checkNames(names, limits)
  const { total, rate, maxEntries, deadLetter } = limits
  if (total !== undefined) checkInteger('total', total, 1, 1_000_000)
  if (rate !== undefined) {
    checkObject('rate', rate, '{ count: 100, perMs: 60_000 }')
    checkNames(rateNames, rate, 'rate.')
    checkInteger('rate.count', rate.count, 1, 1_000_000)
    checkInteger('rate.perMs', rate.perMs, 1, 86_400_000)
  }
  if (maxEntries !== undefined) {
    checkObject('maxEntries', maxEntries, "{ count: 1_000, whenFull: 'reject' }")
    checkNames(entriesNames, maxEntries, 'maxEntries.')
    checkInteger('maxEntries.count', maxEntries.count, 1, 10_000_000)
    if (maxEntries.whenFull !== undefined && !whenFull.includes(maxEntries.whenFull))
      throw invalid('maxEntries.whenFull', maxEntries.whenFull, `must be one of ${whenFull.join(', ')}`)
  }
  if (deadLetter === undefined) return
  checkText('deadLetter', deadLetter, taskLimits.topicLength)
  if (deadLetter === topic) throw invalid('deadLetter', deadLetter, 'must be another topic')
}

function checkObject(argument: string, value: unknown, example: string): void {
  if (typeof value !== 'object' || value === null) throw invalid(argument, value, `must be an object, such as ${example}`)
}

/** Limits that all processes keep together. */
export interface TopicLimiter<Transaction, E extends Execution = 'async'> {
  /**
   * Sets the limits of a topic, in place of those that it had. Processors follow within a second if the topic had a `total` or a `rate` before, and otherwise
   * when their maintenance runs next. If more tasks are active than a new `total` allows, none is polled until enough have ended.
   *
   * @param options with `keep`, limits that the topic has already stay as they are
   * @returns the limits that hold now
   * @throws TaskError ARGUMENT_INVALID, also if dead letters would come back to the topic; TOPIC_UNKNOWN, also for the topic `deadLetter`
   * @example
   * await tasks.limit(tx, 'mail', { total: 40, rate: { count: 100, perMs: 60_000 }, deadLetter: 'mail:dead' })
   */
  limit(transaction: Transaction, topic: string, limits: TopicLimits, options?: LimitOptions): Outcome<E, TopicLimits>
  /** The limits of each topic that has any. */
  limits(transaction: Transaction): Outcome<E, ReadonlyMap<string, TopicLimits>>
  /**
   * Takes a share of the `total` of a topic, and gives back what is not wanted. Owners that want more than there is get equal shares; nobody loses slots whose
   * tasks he holds. Processors call this, in a transaction of its own. `freeSlots` frees those of dead owners.
   *
   * @throws TaskError ARGUMENT_INVALID
   */
  takeSlots(transaction: Transaction, topic: string, wish: SlotWish): Outcome<E, SlotGrant>
  /**
   * Whether this owner still has slots of a topic, and keeps them until the transaction ends. Processors call this after a poll, in its transaction: an owner
   * that was stopped for longer than its lease may have lost its slots to others. If it has none, roll back, and poll nothing until `takeSlots` has given some.
   *
   * @throws TaskError ARGUMENT_INVALID
   */
  holdSlots(transaction: Transaction, topic: string): Outcome<E, boolean>
  /**
   * Frees the slots of owners that have sent no heartbeat for so long, unless they still hold tasks of the topic: call `expire` before. Maintenance of a node does
   * this, in a transaction of its own. It waits for nobody: slots of an owner that is stopped while it takes slots or polls are left until it has ended.
   *
   * @param olderThanMs 0 ms to 100 years; never less than the lease
   * @returns of how many owners and topics
   * @throws TaskError ARGUMENT_INVALID
   */
  freeSlots(transaction: Transaction, olderThanMs: number): Outcome<E, number>
  /**
   * Takes from the `rate` of a topic what a poll is about to use. Processors call this in a transaction of its own, before the poll.
   *
   * @throws TaskError ARGUMENT_INVALID
   */
  takeTokens(transaction: Transaction, topic: string, wanted: number): Outcome<E, TokenGrant>
  /** Gives back tokens that a poll has not used. */
  giveTokens(transaction: Transaction, topic: string, count: number): Outcome<E, void>
  /**
   * Makes sure that there is room for tasks that are about to be pushed in this transaction. Pushes to a topic with `maxEntries` follow each other: a second one
   * waits until the transaction of the first has ended. Without that limit nothing is done. Tasks that are pushed or made ready without it are counted within
   * a second.
   *
   * @param externalIds those of the tasks: one that is known already needs no room, as its push creates no task
   * @throws TaskError TOPIC_FULL; ARGUMENT_INVALID
   * @example
   * await tasks.admit(tx, 'mail', 1)
   * await tasks.push(tx, 'mail', 'welcome')
   */
  admit(transaction: Transaction, topic: string, count: number, externalIds?: readonly string[]): Outcome<E, void>
}

export interface LimitOptions {
  /** Whether limits that the topic has already are kept. Default false. */
  readonly keep?: boolean
}
