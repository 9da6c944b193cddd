/** What the tests of drivers are given: one library with a database of its own, and the caller's side of it. */
import type { TransactionSource } from '@taskstream/task-api'
import type { Dialect, SqlAdapter } from '@taskstream/task-sql'
import type { AnyTransaction } from '../subject.ts'

/** What a caller does in a transaction: yields what the library or a verb returns, a promise or a value, and is given the value. */
export type Steps = (transaction: AnyTransaction) => Generator<unknown, void, AnyTransaction>

export interface OpenDriver {
  readonly dialect: Dialect
  readonly adapter: SqlAdapter<AnyTransaction, 'async'> | SqlAdapter<AnyTransaction, 'sync'>
  readonly transactions: TransactionSource<AnyTransaction>
  /** What has what the adapter asks for, and is no transaction. */
  readonly outside?: AnyTransaction
  /** Takes the steps in a transaction that the library itself opens, as its documentation shows it; rolls back if one throws. */
  transact(steps: Steps): Promise<void>
  /** A row of the caller's own, written as the library's users write. */
  insertInvoice(transaction: AnyTransaction, id: string): unknown
  /** The caller's own rows, outside any transaction. */
  invoices(): Promise<string[]>
  close(): Promise<void>
}

export interface Driver {
  readonly name: string
  /** Its transactions are no connections, and the adapter can tell that one has ended, whoever began it. */
  readonly tellsEnd?: true
  /** It connects before it is asked for a transaction. */
  readonly connectsFirst?: true
  /** What was closed is opened again by whoever uses it. */
  readonly reopens?: true
  /** It waits for a connection for as long as that takes. */
  readonly waits?: true
  /** A database's URL or a file. */
  open(at: string, pool?: PoolSettings): Promise<OpenDriver>
}

/** How many connections there are, and how long one is waited for, as far as that can be said. */
export interface PoolSettings {
  readonly max: number
  readonly waitMs?: number
}

export const ordinaryPool: PoolSettings = { max: 4 }

export function takeSync(steps: ReturnType<Steps>): void {
  let step = steps.next()
  while (!step.done) step = steps.next(step.value)
}

export async function takeAsync(steps: ReturnType<Steps>): Promise<void> {
  let step = steps.next()
  while (!step.done) step = steps.next(await step.value)
}
