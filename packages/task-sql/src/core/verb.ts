import type { Execution, Outcome, ServerAddress } from '@taskstream/task-api'
import type { Statement } from './statement.ts'

/** A row of a driver, by column name. Integers come in the form that the driver gives: number, bigint or string. */
export type Row = Readonly<Record<string, unknown>>

/** Runs statements with one driver. This interface is all that the library asks of a driver, and no driver is imported for it. */
export interface SqlAdapter<Transaction, E extends Execution = Execution> {
  readonly execution: E
  /**
   * Runs one statement in the transaction and returns its rows; a statement without rows returns none. Throws the driver's own errors.
   *
   * @param plan the size of the table for which a plan is kept: a driver that prepares statements keeps a plan for each. Without it
   *   no plan should be kept
   */
  execute(transaction: Transaction, statement: Statement, plan?: string): Outcome<E, readonly Row[]>
  /** Where the server of this transaction is, for traces. Absent if the driver does not tell, or has no server. Must not throw. */
  serverOf?(transaction: Transaction): ServerAddress | undefined
}

/** A verb does no I/O: it yields statements, is given their rows, and returns its result. `runVerb` decides how to wait. */
export type Verb<Result> = Generator<Statement, Result, readonly Row[]>
