/** What a run consists of: its topics, its timers, and what its processes are told. */
import type { TopicOptions } from '@taskstream/task-api'
import type { TopicSetting } from './checker/history.ts'
import type { Subject } from '../subject.ts'

export const leaseMs = 2_000
/** A busy machine takes this long to start a process anew. */
export const patienceMs = 60_000

/** How nodes process a topic. */
export interface LaboratoryTopic extends TopicSetting {
  readonly mode?: 'transactional'
  /** Batches of one: from a buffer, or polled and completed together with others. */
  readonly small?: 'buffered' | 'shared'
  /** Whether it is a queue of typed jobs, which handle themselves. */
  readonly typed?: boolean
  /** Whether producers push into it. */
  readonly fed: boolean
}

const plain = { keyed: false, order: 'fifo', strict: true, fed: true } as const
const keyed = { ...plain, keyed: true } as const

export const topics: readonly LaboratoryTopic[] = [
  { ...plain, name: 'plain' },
  { ...plain, name: 'by priority', order: 'priority' },
  { ...plain, name: 'last first', order: 'lifo' },
  { ...keyed, name: 'keyed' },
  { ...keyed, name: 'keyed by priority', order: 'priority' },
  { ...plain, name: 'buffered', small: 'buffered' },
  { ...plain, name: 'small', small: 'shared' },
  { ...plain, name: 'transactional', mode: 'transactional' },
  { ...keyed, name: 'keyed transactional', mode: 'transactional' },
  { ...plain, name: 'first step', next: 'second step' },
  { ...plain, name: 'second step', fed: false },
  { ...plain, name: 'limited', total: 3 },
  { ...keyed, name: 'operated', strict: false },
  { ...plain, name: 'part', fed: false, typed: true },
  { ...plain, name: 'whole', fed: false, typed: true },
  { ...plain, name: 'ticks', fed: false, strict: false, timed: true },
]

export function optionsOf({ keyed: isKeyed, order, total }: LaboratoryTopic): TopicOptions {
  return {
    ...(order !== 'fifo' && { order }),
    ...(isKeyed && { condition: 'singular-by-identifier' }),
    ...(total !== undefined && { limits: { total } }),
  }
}

export const timers: readonly { readonly id: string; readonly everySeconds: number }[] = [1, 1, 2, 3, 4, 5, 6, 10, 12, 15].map(
  (everySeconds, index) => ({ id: `timer ${index}`, everySeconds }),
)

export const group = 'leaders'

export const roles = ['node', 'producer', 'scheduler', 'leader', 'operator', 'jobs'] as const
export type Role = (typeof roles)[number]

/** What a process is told when it starts. */
export interface Orders {
  readonly location: Subject['location']
  readonly actor: string
  readonly seed: number
  readonly historyFile: string
  /** How many tasks a producer pushes in a second. */
  readonly rate: number
  /** A fence of the product that is taken away, to see that the checker misses it. */
  readonly without?: string
}

/** What a process is told while it runs: to push no more, to stop, to write down what it uses, or to keep all connections of its pool for some time. */
export type Message = { readonly tell: 'rest' | 'stop' | 'sample' } | { readonly tell: 'hoard'; readonly ms: number }
