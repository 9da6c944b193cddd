/** Every order. A database stores its position, so new ones are only appended. */
export const pollOrders = ['fifo', 'lifo', 'priority', 'shared'] as const

/**
 * The order in which a topic is polled.
 *
 * - `fifo`: by ascending sequence
 * - `lifo`: by descending sequence
 * - `priority`: by descending priority, then by ascending sequence
 * - `shared`: the identifiers take turns, so that none waits for another's backlog. Of one identifier, high tasks (a priority of 0 or more) and low ones
 *   (below 0) come in the shares of the poll, each by ascending sequence. Only without a condition: under one, identifiers share anyway
 */
export type PollOrder = (typeof pollOrders)[number]

/** Every condition. A database stores its position, so new ones are only appended. */
export const pollConditions = [
  'none',
  'singular-by-identifier',
  'singular-by-identifier-suspend-on-failure',
  'singular-by-identifier-suspend-until-success',
] as const

/**
 * Which ready tasks of a topic may be polled.
 *
 * - `none`: all of them
 * - `singular-by-identifier`: one task of an identifier at a time, in order. A task is blocked while another task of its topic and identifier is
 *   active, or while an earlier one is ready or delayed
 * - `…-suspend-on-failure`: a task is also blocked while an earlier one is expired or failed
 * - `…-suspend-until-success`: a task is also blocked while an earlier one is expired, failed or suspended
 *
 * Earlier means earlier in the order of polling. Under `priority` the tasks of one identifier keep the order of their sequences, and priority
 * decides among identifiers.
 */
export type PollCondition = (typeof pollConditions)[number]

/** What is written of a task while it is done. */
export const taskRecords = ['states', 'outcomes'] as const

/**
 * What is written of a task while it is done.
 *
 * - `states`: that it is held, and what it ended with
 * - `outcomes`: only what it ended with. That it is held is written once for all tasks of a poll, so that half as much is written. Only in `fifo`
 *   topics without a condition that are not keyed, and on PostgreSQL
 */
export type TaskRecord = (typeof taskRecords)[number]

/** How a topic is polled. The options belong to the topic, so that no poll can break its order or its condition by leaving one out. */
export interface TopicOptions {
  /** Default `fifo`. The other orders cost an index of their own. */
  readonly order?: PollOrder
  /** Default `none`. The other conditions cost an index of identifiers, as `keyed` does. */
  readonly condition?: PollCondition
  /**
   * Whether tasks can be found by identifier, for insertions other than `append` and for junctions. Default false; always true under a condition and in the
   * order `shared`.
   */
  readonly keyed?: boolean
  /** Default `states`. */
  readonly record?: TaskRecord
}
