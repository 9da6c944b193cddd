/** When a scenario has had enough rounds, and how the time of a run is shared among scenarios. */
import { spread } from './statistics.ts'

/** A ratio whose middle half is within a tenth of its median is steady. */
const steadySpread = 0.1
/** Fewer rounds say nothing about their spread. */
const fewestRounds = 5

export interface Course {
  /** The ratio of each round that is judged: taskstream relative to its best peer. */
  readonly ratios: readonly number[]
  /** The milliseconds since the scenario began, with its preparation. */
  readonly spentMs: number
  readonly longestRoundMs: number
  /** The milliseconds that the scenario may take. */
  readonly shareMs: number
  /** The scenario is measured once, because a second round would say the same or take too long. */
  readonly isOnce: boolean
}

export type Verdict = 'go on' | 'measured once' | 'steady' | 'out of time'

/** The first round is always run. A further one is run if it fits, as long as the longest before it, until the ratio is steady. */
export function verdictOn({ ratios, spentMs, longestRoundMs, shareMs, isOnce }: Course): Verdict {
  if (ratios.length === 0) return 'go on'
  if (isOnce) return 'measured once'
  const now = spread(ratios)
  if (ratios.length >= fewestRounds && now !== null && now < steadySpread) return 'steady'
  return spentMs + longestRoundMs > shareMs ? 'out of time' : 'go on'
}

/**
 * The share of the rest of the time that the first of the remaining scenarios may take. What a scenario leaves, the ones after it
 * share, and what it takes too much, they lack.
 *
 * @param weights of the remaining scenarios, from the next one on
 */
export function nextShareMs(weights: readonly number[], remainingMs: number): number {
  const all = weights.reduce((sum, each) => sum + each, 0)
  return all > 0 ? (Math.max(0, remainingMs) * weights[0]!) / all : 0
}
