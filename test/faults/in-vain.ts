/** Transactions of a node, with a count of those that it has given up. */
import type { TransactionSource } from '@taskstream/task-api'
import type { AnyTransaction } from '../subject.ts'

export interface CountedTransactions {
  readonly source: TransactionSource<AnyTransaction>
  /** How many transactions have been asked for and have failed. */
  readonly inVain: () => number
}

export function countInVain(source: TransactionSource<AnyTransaction>): CountedTransactions {
  let count = 0
  const counted = (ask: TransactionSource<AnyTransaction>): TransactionSource<AnyTransaction> =>
    new Proxy(ask, {
      apply: async (target, self, asked) => {
        try {
          return (await Reflect.apply(target, self, asked)) as unknown
        } catch (error) {
          count++
          throw error
        }
      },
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        return name === 'autocommit' && value ? counted(value as TransactionSource<AnyTransaction>) : value
      },
    })
  return { source: counted(source), inVain: () => count }
}
