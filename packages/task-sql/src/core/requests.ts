/** The requests that verbs make of a dialect, and its answers. */
import type { HeldTask, TaskRecord } from '@taskstream/task-api'
import type { Statement } from './statement.ts'
import type { TopicMode } from './topic-mode.ts'
import type { Row } from './verb.ts'

/** One column of rows that are sent as values: `select … from ${dialect.expr.rows(columns)}`. */
export interface RowColumn {
  readonly name: string
  readonly type: 'text' | 'integer'
  readonly values: readonly (string | number | null)[]
}

/** Parts of an update of held rows `t`. */
export interface HeldValues {
  /**
   * For rows that are only locked: the assignments that would have made them active, but for `tries`, to follow others. Empty for active
   * rows.
   */
  readonly take: Statement
  /** The number of tries of the row, with the present one. Active rows have it already. */
  readonly tries: Statement
  /** The value of one of the columns for the row `t`. */
  value(column: string): Statement
}

/** Held tasks of one topic, with the new values of each. */
export interface HeldRequest {
  readonly topic: string
  readonly owner: string
  readonly tasks: readonly HeldTask[]
  readonly columns: readonly RowColumn[]
  /** Whether their rows are still ready: this transaction has only locked them, or a range holds them. */
  readonly locked: boolean
  /** Whether a range holds them. */
  readonly ranged?: boolean
  readonly now: number | null
  /** Whether to write rechecks of their identifiers, where that is part of the statement (`Writes.rechecksHeld`). */
  readonly recheck?: boolean
}

/** Rows of one topic that are to be locked. */
export interface Selection {
  readonly topic: string
  /** Only the rows of these sequences. */
  readonly sequences?: readonly number[]
  /** Table expression and topic predicate to use instead of the defaults. The table's alias is `t`. */
  readonly read?: { readonly from: Statement; readonly topic: Statement }
  /** A condition on rows `t`. */
  readonly which?: Statement
  /** Only the first rows in this order. */
  readonly first?: { readonly orderBy: Statement; readonly limit: number }
  /** Whether the statement waits for rows that others have locked, or skips them. */
  readonly locked: 'wait' | 'skip'
}

/** Rows of one topic that are to be changed. */
export interface Change extends Selection {
  /**
   * Assignments to the columns of `t`. An expression that reads a column stands before the assignment to that column: some databases
   * evaluate assignments in order, on the changed row.
   */
  readonly set: Statement
  /**
   * The columns to return of each row, with their new values. Default: `sequence`. They have no table alias, because SQLite knows
   * none in a returning clause.
   */
  readonly returning?: Statement
}

/** Rows of one topic that are to be deleted, by their keys. */
export interface Removal {
  readonly table: Statement
  readonly key: string
  readonly topic: string
  readonly keys: readonly number[]
  /** A condition on rows `t`. */
  readonly which?: Statement
  /** The columns to return of each row. Default: the key. */
  readonly returning?: Statement
}

/** Tasks that are to be inserted into a topic. */
export interface TaskInsertion {
  readonly topic: string
  /** Whether the insert notifies listeners of the topic at commit, where the database can. */
  readonly wake: boolean
  readonly columns: Statement
  /** A value for each column. Expressions may read the topic's row `p` and the rows of `from`. */
  readonly values: Statement
  readonly from: Statement
  readonly where?: Statement
  /** The order in which rows are inserted; absent if the rows of `from` are in order already. */
  readonly orderBy?: Statement
  /** How many rows `from` has. */
  readonly count: number
  /** What the topic is thought to keep. If it keeps something else, nothing is inserted. */
  readonly record: TaskRecord
}

/** The request of a poll. `now` is epoch milliseconds of a test clock, or null for the database's clock. */
export interface ClaimRequest {
  readonly topic: string
  readonly owner: string
  readonly size: number
  readonly now: number | null
  /** The columns to return of each claimed row. */
  readonly columns: Statement
  /** Whether locking the rows is enough, because the caller completes them in the same transaction. */
  readonly mayLock: boolean
}

/** The result of a claim. Its rows are in no particular order. */
export interface Claim {
  readonly rows: readonly Row[]
  /** The topic's mode; undefined if the topic is unknown. If it is not the expected mode, nothing was taken. */
  readonly mode?: TopicMode
  readonly ownerKnown: boolean
  /** Whether the rows are only locked, so that the claim has not written to them. */
  readonly locked?: boolean
  /** Further rows, which ranges hold, so that the claim has not written to them. */
  readonly ranged?: readonly Row[]
  /** Whether there may be tasks to take behind those that the claim has looked at. */
  readonly more?: boolean
}

/** Stripes that a transaction has locked. */
export interface LockStripes {
  /** True for an identifier in one of them. */
  holds(identifier: Statement): Statement
  /** True for a place if the stripes of all candidates up to it are locked, by this transaction or by another. */
  reaches(place: Statement): Statement
  /** Whether the stripes of all candidates are locked, by this transaction or by another. */
  readonly all: boolean
}
