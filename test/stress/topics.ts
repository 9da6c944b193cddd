/** The topics of a stress run, and what its workers are told and report. */
import type { TopicOptions } from '@taskstream/task-api'
import type { Subject } from '../subject.ts'

/** The topics cover every mode, with and without an order to keep. */
export const topics: readonly {
  readonly name: string
  readonly mode: 'leased' | 'transactional'
  readonly options: TopicOptions
}[] = [
  { name: 'plain', mode: 'leased', options: {} },
  { name: 'priority', mode: 'leased', options: { order: 'priority' } },
  { name: 'last-first', mode: 'leased', options: { order: 'lifo' } },
  { name: 'singular', mode: 'leased', options: { condition: 'singular-by-identifier' } },
  { name: 'singular-priority', mode: 'leased', options: { condition: 'singular-by-identifier', order: 'priority' } },
  { name: 'buffered', mode: 'leased', options: {} },
  { name: 'plain-transactional', mode: 'transactional', options: {} },
  { name: 'singular-transactional', mode: 'transactional', options: { condition: 'singular-by-identifier' } },
]

/** Orders for a worker. */
export interface WorkerOrders {
  readonly location: Subject['location']
  readonly seed: number
  readonly leaseMs: number
}

/** A worker's report when it has been stopped. */
export interface WorkerReport {
  readonly handled: number
  readonly lost: number
  readonly stuck: number
  readonly errors: readonly string[]
  readonly finished: number
  readonly returned: number
  readonly abandoned: number
}

/** Pseudo-random numbers from 0 to below 1, the same for the same seed. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
