/** Transactions of a subject that tell when they begin, and when their commit is sent. */
import type { TransactionSource } from '@taskstream/task-api'
import type { AnyTransaction, Subject } from '../subject.ts'

interface Watch {
  /** Called before the work of a transaction. */
  readonly onBegin: (connection: object) => void
  /** Called when a commit was handed to the network and nobody has read an answer. On SQLite the file has it by then. */
  readonly onCommitSent: (connection: object, transaction: AnyTransaction) => void
}

interface Watched {
  readonly source: TransactionSource<AnyTransaction>
  /** What stands for a transaction as long as it is open. */
  readonly connectionOf: (transaction: AnyTransaction) => object
}

type Send = (text: unknown, ...rest: unknown[]) => unknown

export function watchTransactions(subject: Subject, { onBegin, onCommitSent }: Watch): Watched {
  const running = new WeakMap<object, AnyTransaction>()
  const verb = subject.engine === 'sqlite' ? 'exec' : 'query'
  // Each transaction of mysql2 is a new object around its connection.
  const connectionOf = (transaction: AnyTransaction): object =>
    (subject.engine === 'mariadb' ? transaction.connection : transaction) as object
  const watch = (connection: object, transaction: AnyTransaction): void => {
    const isWatched = running.has(connection)
    running.set(connection, transaction)
    if (isWatched) return
    const watched = connection as Record<typeof verb, Send>
    const send = watched[verb]
    watched[verb] = function (this: unknown, ...args) {
      const answer = Reflect.apply(send, this, args)
      if (args[0] === 'commit') onCommitSent(connection, running.get(connection))
      return answer
    }
  }
  const source = new Proxy(subject.transactions, {
    apply: (target, _, [work, options]: Parameters<TransactionSource<AnyTransaction>>) =>
      target((transaction: AnyTransaction) => {
        const connection = connectionOf(transaction)
        watch(connection, transaction)
        onBegin(connection)
        return work(transaction)
      }, options),
  })
  return { source, connectionOf }
}
