/** What verbs ask of a dialect, and what it answers. */
import type { HeldTask } from '@taskstream/task-api'
import type { Statement } from './statement.ts'
import type { TopicMode } from './topic-mode.ts'
import type { Row } from './verb.ts'

/** One column of rows that travel as values: `select … from ${dialect.expr.rows(columns)}`. */
export interface RowColumn {
  readonly name: string
  readonly type: 'text' | 'integer'
  readonly values: readonly (string | number | null)[]
}

/** Parts of an update of held rows `t`. */
export interface HeldValues {
  /** Assignments that a poll left for the completion, at the end of a list; nothing for active rows. */
  readonly take: Statement
  /** How often the row was tried, this time included. */
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
  /** Whether this transaction has locked them, instead of making them active. */
  readonly locked: boolean
  readonly now: number | null
}

/** Rows of one topic that are to be locked. */
export interface Selection {
  readonly topic: string
  /** Only these. */
  readonly sequences?: readonly number[]
  /** Table expression and topic predicate to use instead of the defaults. The table's alias is `t`. */
  readonly read?: { readonly from: Statement; readonly topic: Statement }
  /** A condition on rows `t`. */
  readonly which?: Statement
  /** Only the first of them. */
  readonly first?: { readonly orderBy: Statement; readonly limit: number }
  /** Whether the statement waits for rows that others have locked, or passes over them. */
  readonly locked: 'wait' | 'skip'
}

/** Rows of one topic that are to be changed. */
export interface Change extends Selection {
  /**
   * Assignments to the columns of `t`. An expression that reads a column stands before the assignment to that column: some databases
   * evaluate assignments in order, on the changed row.
   */
  readonly set: Statement
  /** The columns to return of each row, as it is afterwards. Default: `sequence`. Without an alias, which SQLite does not know there. */
  readonly returning?: Statement
}

/** Rows of one topic that are to be deleted, by their keys. */
export interface Removal {
  readonly table: Statement
  readonly key: string
  readonly topic: string
  readonly keys: readonly number[]
  /** The columns to return of each row. Default: the key. */
  readonly returning?: Statement
}

/** Tasks that are to be inserted into a topic. */
export interface TaskInsertion {
  readonly topic: string
  /** Whether the insert notifies listeners of the topic at commit, where the database can. */
  readonly wake: boolean
  /** Names of columns. */
  readonly columns: Statement
  /** A value for each, of the topic's row `p` and of rows of `from`. */
  readonly values: Statement
  readonly from: Statement
  readonly where?: Statement
  /** The order of the rows of `from`, where the database does not keep it by itself. */
  readonly orderBy?: Statement
  /** How many rows `from` has. */
  readonly count: number
}

/** What a poll asks for. `now` is epoch milliseconds of a test clock, or null for the database's. */
export interface ClaimRequest {
  readonly topic: string
  readonly owner: string
  readonly size: number
  readonly now: number | null
  /** What every claimed row is to return. */
  readonly columns: Statement
  /** Rows are completed in this transaction: to lock them is enough, if that keeps others off them. */
  readonly mayLock: boolean
}

/** The result of a claim. Its rows are in no particular order. */
export interface Claim {
  readonly rows: readonly Row[]
  /** The topic's mode; undefined if the topic is unknown. If it is not the expected mode, nothing was taken. */
  readonly mode?: TopicMode
  readonly ownerKnown: boolean
  /** The rows are locked, and nothing is written yet. */
  readonly locked?: boolean
}

/** Stripes that a transaction has locked. */
export interface LockStripes {
  /** True for an identifier in one of them. */
  holds(identifier: Statement): Statement
  /** True for a place before which every stripe was locked, by this transaction or by another. */
  reaches(place: Statement): Statement
  /** Whether every candidate's stripe was locked, by this transaction or by another. */
  readonly all: boolean
}
