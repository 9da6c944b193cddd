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

/** What held rows `t` are given. */
export interface HeldValues {
  /** What polling has left to be written, as the end of a list of assignments; nothing of active rows. */
  readonly take: Statement
  /** How often the row was tried, this time included. */
  readonly tries: Statement
  /** The value of one of the columns for the row `t`. */
  value(column: string): Statement
}

/** Tasks of one poll, and what each is given. */
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
  /** The task table as `t`, where it is to be read in a certain way; and what says which topic it is, said so too. */
  readonly read?: { readonly from: Statement; readonly topic: Statement }
  /** Only those, as `t`, that meet this. */
  readonly which?: Statement
  /** Only the first of them. */
  readonly first?: { readonly orderBy: Statement; readonly limit: number }
  /** What others have locked is waited for, or passed over. */
  readonly locked: 'wait' | 'skip'
}

/** Rows of one topic that are to be changed. */
export interface Change extends Selection {
  /**
   * Assignments to the columns of `t`. What is derived from a column stands before what is assigned to that column: not every database goes
   * by the row as it was.
   */
  readonly set: Statement
  /** What is told of each row, as it is afterwards; its `sequence` where nothing is said. Bare names: SQLite knows no alias there. */
  readonly returning?: Statement
}

/** Rows of one topic that are to be deleted, by their keys. */
export interface Removal {
  readonly table: Statement
  readonly key: string
  readonly topic: string
  readonly keys: readonly number[]
  /** What is told of each row; nothing where nothing is said. */
  readonly returning?: Statement
}

/** Tasks that are to be inserted into a topic. */
export interface TaskInsertion {
  readonly topic: string
  /** Says at commit that the topic has ready tasks, where the database can. */
  readonly wake: boolean
  /** Names of columns. */
  readonly columns: Statement
  /** A value for each, of the topic's row `p` and of rows of `from`. */
  readonly values: Statement
  readonly from: Statement
  readonly where?: Statement
  /** The order in which the rows of `from` stand, said where that is not taken for granted. */
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

/** What a poll took. Rows come in no particular order. */
export interface Claim {
  readonly rows: readonly Row[]
  /** How the topic is polled; none if it is unknown. Where that is not what was expected, nothing was taken. */
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
