/** Transactions whose outcome is not always told. */
import type { TransactionSource } from '@taskstream/task-api'
import { TaskError } from 'taskstream'
import type { AnyTransaction } from '../subject.ts'

interface Doubts {
  /** Called before a transaction. It fails without being begun if this returns true. */
  readonly refuses?: () => boolean
  readonly onBegin: (transaction: AnyTransaction) => void
  /** Called after the commit. The caller is not told of it if this returns true. */
  readonly onCommitted: (transaction: AnyTransaction) => boolean
}

export function unsure(source: TransactionSource<AnyTransaction>, doubts: Doubts): TransactionSource<AnyTransaction> {
  const { refuses, onBegin, onCommitted } = doubts
  return new Proxy(source, {
    apply: async (target, self, [work, options]: Parameters<TransactionSource<AnyTransaction>>) => {
      if (refuses?.()) throw lost()
      let last: AnyTransaction
      const noted: typeof work = (transaction: AnyTransaction) => {
        last = transaction
        onBegin(transaction)
        return work(transaction)
      }
      const result: unknown = await Reflect.apply(target, self, [noted, options])
      if (onCommitted(last)) throw lost()
      return result
    },
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      return name === 'autocommit' && value ? unsure(value as TransactionSource<AnyTransaction>, doubts) : value
    },
  })
}

function lost(): TaskError {
  return new TaskError('DATABASE_UNAVAILABLE', 'The commit was sent and not answered')
}
