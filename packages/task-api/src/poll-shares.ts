import { checkNames, optionNames } from './option-names.ts'
import { checkInteger, invalid } from './task-limits.ts'

/**
 * How many high and how many low tasks of an identifier are polled in turn, in topics of the order `shared`. While there are none of one kind, the others
 * are taken instead. Each process counts for itself.
 */
export interface PollShares {
  /** 1 to 1000. */
  readonly high: number
  /** 1 to 1000. */
  readonly low: number
}

/** Four high tasks, then a low one. */
export const defaultShares: PollShares = { high: 4, low: 1 }

const names = optionNames<PollShares>('shares', { high: true, low: true })

/** @throws TaskError ARGUMENT_INVALID */
export function checkShares(shares: PollShares): void {
  if (typeof shares !== 'object' || shares === null) throw invalid('shares', shares, 'must be an object with high and low')
  checkNames(names, shares)
  checkInteger('shares.high', shares.high, 1, 1000)
  checkInteger('shares.low', shares.low, 1, 1000)
}
