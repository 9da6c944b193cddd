/** What a soak consists of, and what is sampled. */
import type { TopicOptions } from '@taskstream/task-api'

export const topics: readonly { readonly name: string; readonly options: TopicOptions }[] = [
  { name: 'plain', options: {} },
  { name: 'urgent', options: { order: 'priority' } },
  { name: 'keyed', options: { condition: 'singular-by-identifier' } },
]

/** Done tasks are purged after this time, so that sizes can be expected to level off. */
export const retainMs = 120_000

export interface WorkerSample {
  readonly rss: number
  readonly heapUsed: number
  readonly handles: number
  /** From before the push until after the completion, since the last sample. */
  readonly latenciesMs: readonly number[]
  readonly errors: number
}

export interface Sample {
  readonly minutes: number
  readonly done: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly rssMb: number
  readonly heapMb: number
  readonly handles: number
  readonly tableMb: number
  readonly deadRows: number
  readonly errors: number
}
