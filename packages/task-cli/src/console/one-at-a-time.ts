import type { TransactionSource } from '@taskstream/task-api'

/** Makes sources of the same connection wait for each other: a page asks while another one is being read. */
export function oneAtATime<Transaction>(
  ...sources: readonly TransactionSource<Transaction>[]
): readonly TransactionSource<Transaction>[] {
  let last: Promise<unknown> = Promise.resolve()
  return sources.map((source) => async (work, options) => {
    const mine = last.then(() => source(work, options))
    last = mine.catch(() => {})
    return mine
  })
}
