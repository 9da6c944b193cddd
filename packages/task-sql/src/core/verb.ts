import type { Execution, Outcome } from '@taskstream/task-api'
import type { Statement } from './statement.ts'

/** A row as drivers give it: by column name, numbers and 64-bit integers in whatever form the driver has. */
export type Row = Readonly<Record<string, unknown>>

/** How one driver's transaction is handed a statement: the single seam to any driver. Structural, so that no driver is imported. */
export interface SqlAdapter<Transaction, E extends Execution = Execution> {
  readonly execution: E
  /**
   * Runs one statement in the transaction and returns its rows, none for a statement without. Throws the driver's own errors.
   *
   * @param plan names the circumstances for which a plan of this text may be kept, where driver and connection can; none: it is not worth it
   */
  execute(transaction: Transaction, statement: Statement, plan?: string): Outcome<E, readonly Row[]>
}

/** A verb without I/O: yields statements, is given their rows, and returns its result. Whoever runs it decides how to wait. */
export type Verb<Result> = Generator<Statement, Result, readonly Row[]>
