/** Every order, at the position of the number it is stored as. Persisted: only ever appended to. */
export const pollOrders = ['fifo', 'lifo', 'priority'] as const

/**
 * In what order a topic is polled.
 *
 * - `fifo`: by ascending sequence
 * - `lifo`: by descending sequence
 * - `priority`: by descending priority, then by ascending sequence
 */
export type PollOrder = (typeof pollOrders)[number]

/** Every condition, at the position of the number it is stored as. Persisted: only ever appended to. */
export const pollConditions = [
  'none',
  'singular-by-identifier',
  'singular-by-identifier-suspend-on-failure',
  'singular-by-identifier-suspend-until-success',
] as const

/**
 * Which ready tasks may be polled.
 *
 * - `none`: all of them
 * - `singular-by-identifier`: never two tasks of one identifier at a time, and in order: not while another of the same topic
 *   and identifier is active, nor while one before it is ready or delayed
 * - `…-suspend-on-failure`: nor while one before it is expired or failed
 * - `…-suspend-until-success`: nor while one before it is expired, failed or suspended
 *
 * Before means: in the order of polling. Under `priority` the tasks of one identifier keep the order of their sequences, and
 * priority decides among identifiers.
 */
export type PollCondition = (typeof pollConditions)[number]

/** How a topic is polled: by everyone alike, so that nobody can break its order or its exclusion by leaving an option out. */
export interface TopicOptions {
  /** Default `fifo`. The others pay for an index of their own. */
  readonly order?: PollOrder
  /** Default `none`. The others pay for an index of identifiers, as `keyed` does. */
  readonly condition?: PollCondition
  /** Identifiers can be found: for insertions other than `append`, and for junctions. Default false; true under a condition. */
  readonly keyed?: boolean
}
