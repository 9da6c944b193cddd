/** A driver under test: one library with a database of its own, used as a caller would use it. */
import type { TransactionSource } from '@taskstream/task-api'
import type { Dialect, SqlAdapter } from '@taskstream/task-sql'
import type { AnyTransaction } from '../subject.ts'

/** A caller's work in a transaction. It yields what the library or a verb returns, a promise or a value, and gets the value back. */
export type Steps = (transaction: AnyTransaction) => Generator<unknown, void, AnyTransaction>

export interface OpenDriver {
  readonly dialect: Dialect
  readonly adapter: SqlAdapter<AnyTransaction, 'async'> | SqlAdapter<AnyTransaction, 'sync'>
  readonly transactions: TransactionSource<AnyTransaction>
  /** An object that looks like a transaction to the adapter, and is none. */
  readonly outside?: AnyTransaction
  /** Runs the steps in a transaction that the library opens in its documented way, and rolls back if one of them throws. */
  transact(steps: Steps): Promise<void>
  /** Inserts a row of the caller's own, as the library's users write it. */
  insertInvoice(transaction: AnyTransaction, id: string): unknown
  /** The caller's own rows, read outside any transaction. */
  invoices(): Promise<string[]>
  close(): Promise<void>
}

export interface Driver {
  readonly name: string
  /** Whether the adapter can tell that a transaction has ended, whoever began it, because transactions are not connections here. */
  readonly tellsEnd?: true
  /** Whether the library connects before it is asked for a transaction. */
  readonly connectsFirst?: true
  /** Whether a closed library opens again when it is used. */
  readonly reopens?: true
  /** Whether the library waits for a connection without a limit. */
  readonly waits?: true
  /** Whether statements of one connection are sent without waiting for the answers of those before. */
  readonly sendsAtOnce?: true
  /** @param at the URL of a database, or a file */
  open(at: string, pool?: PoolSettings): Promise<OpenDriver>
}

/** The number of connections and the longest wait for one, as far as the library has these settings. */
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
