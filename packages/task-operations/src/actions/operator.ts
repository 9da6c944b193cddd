/** Who acts, and on which database. */
import type { Execution, TransactionSource } from '@taskstream/task-api'
import type { SqlTaskRepository } from '@taskstream/task-sql'

export interface Operator {
  readonly tasks: SqlTaskRepository<unknown, Execution>
  readonly transactions: TransactionSource<unknown>
  /** Runs transactions that only read. Default: `transactions`. */
  readonly reading?: TransactionSource<unknown>
  /** Who does it, up to 250 characters. */
  readonly actor?: string
  /** Where it is done, up to 20 characters, such as `cli`. */
  readonly via: string
  /** Why, up to 500 characters. */
  readonly note?: string
}

/** The parts of a record that say who acts. */
export function byOf({ actor, via, note }: Operator): {
  readonly via: string
  readonly actor?: string
  readonly note?: string
} {
  return { via, ...(actor !== undefined && { actor }), ...(note !== undefined && { note }) }
}

export function readingOf({ reading, transactions }: Pick<Operator, 'reading' | 'transactions'>): TransactionSource<unknown> {
  return reading ?? transactions
}
