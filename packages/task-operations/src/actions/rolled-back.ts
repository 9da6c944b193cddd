import type { TransactionSource } from '@taskstream/task-api'

/** Runs a transaction for what it would do, and rolls it back. */
export async function rolledBack<Result>(
  transactions: TransactionSource<unknown>,
  work: (transaction: unknown) => Promise<Result>,
): Promise<Result> {
  const back = new RolledBack<Result>('a dry run')
  try {
    return await transactions(async (transaction) => {
      back.result = await work(transaction)
      throw back
    })
  } catch (error) {
    if (error !== back) throw error
    return back.result as Result
  }
}

class RolledBack<Result> extends Error {
  result?: Result
}
