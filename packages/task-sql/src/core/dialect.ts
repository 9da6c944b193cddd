import type { HeldTask, PollOrder, Repair, TaskError } from '@taskstream/task-api'
import type { SqlValue, Statement } from './statement.ts'
import type { Polling } from './topic-mode.ts'
import type { Row, Verb } from './verb.ts'

/** Our tables, as this dialect spells them. */
export interface Tables {
  readonly task: Statement
  readonly topic: Statement
  readonly owner: Statement
  readonly migration: Statement
  /** Identifiers to be looked into by the next poll of a topic with a condition. */
  readonly turn: Statement
  /** Whether topics are meant to be processed. */
  readonly activation: Statement
  /** Tasks that are pushed by the clock. */
  readonly periodic: Statement
}

/** One column of rows that travel as values: `select … from ${dialect.rows(columns)}`. */
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
interface Removal {
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
  readonly polling?: Polling
  readonly ownerKnown: boolean
  /** The rows are locked, and nothing is written yet. */
  readonly locked?: boolean
}

/** Lanes that a transaction has locked. */
export interface Lanes {
  /** True for an identifier in one of them. */
  holds(identifier: Statement): Statement
  /** True for a place before which every lane was locked, by this transaction or by another. */
  reaches(place: Statement): Statement
  /** Whether every candidate's lane was locked, by this transaction or by another. */
  readonly all: boolean
}

/** One step from one version of the schema to the next; never changed once released. */
export interface MigrationStep {
  readonly version: number
  readonly name: string
  /** The oldest version that code may know and still work on these tables: less than `version` if all that it does is add. */
  readonly worksFrom: number
  readonly statements: readonly Statement[]
}

/**
 * What one database says differently. Answers, never flags: a verb splices in what it is given and does not ask which
 * database it is on.
 */
export interface Dialect {
  readonly name: string
  readonly tables: Tables
  readonly migrations: readonly MigrationStep[]

  /** Statements that make concurrent migrations wait for each other, until the transaction ends, and make the table that notes them. */
  readonly beginMigration: readonly Statement[]
  /** Statements as one text, to be read or run by hand. */
  script(statements: readonly string[]): string

  /**
   * Whether there are tables of ours, of whatever version.
   *
   * @throws TaskError RUNTIME_UNSUPPORTED if the server speaks the language, and does not do what it says
   */
  findTables(): Verb<boolean>

  /** The current instant as the time columns store it. */
  now(clock: number | null): Statement
  /** An instant given as epoch milliseconds, as the time columns store it. */
  instant(epochMs: Statement): Statement
  /** `instant` moved by so many milliseconds. */
  plusMs(instant: Statement, ms: Statement): Statement
  /** A time column as whole epoch milliseconds. */
  epochMs(column: Statement): Statement
  /** Text as the headers column stores it. */
  json(text: Statement): Statement
  /** A value as text. */
  text(value: Statement): Statement
  /** The name of the column `condition` of a topic's row: a reserved word in some databases. */
  readonly condition: string
  /** Values as the text of a JSON array. */
  jsonArray(values: Statement): Statement
  readonly true: Statement
  readonly false: Statement

  /** Values as a table named `r` with these columns; any number of rows is the same text. */
  rows(columns: readonly RowColumn[]): Statement
  /** Finds the row `t` of a topic and sequence by its primary key, whatever else the statement asks of it. */
  at(topic: Statement, sequence: Statement): Statement
  /** The task table as `t`, and its rows of these sequences, found one by one: what stands between `from` and the rest of a condition. */
  tasksAt(topic: string, sequences: readonly number[]): Statement
  /** Ends a select of which so many rows are wanted: the first, where it has an order. */
  limit(count: Statement): Statement
  /** Locks rows `t` until the transaction ends. @returns these columns of each, as they are then, in the order asked for or by sequence */
  lockTasks(selection: Selection, columns: Statement): Verb<readonly Row[]>
  /** Locks rows `t` of periodic tasks until the transaction ends. @returns these columns of each, as they are then, in order of their keys */
  lockPeriodic(which: Statement, locked: Selection['locked'], columns: Statement): Verb<readonly Row[]>
  /** The rows `t` of these identifiers of a keyed topic, looked up one by one: what stands between `from` and the rest of a condition. */
  identified(topic: string, identifiers: readonly string[]): Statement
  /** Locks those of them that meet a condition. @returns their sequences, ascending */
  lockIdentified(
    topic: string,
    identifiers: readonly string[],
    which: Statement,
    locked: Selection['locked'],
  ): Verb<readonly number[]>
  /** Ends a select that is to see what was committed last, whatever else its transaction sees. */
  readonly latest: Statement

  /**
   * Asked at every start and expiry, and before a topic is said to be unknown; absent where a database hides no rows.
   *
   * @throws TaskError PERMISSION_DENIED where it hides rows of ours from this user, who would pass over tasks for ever
   */
  checkSeen?(): Verb<void>

  /**
   * Asked before tasks are only locked, and not made active; absent where nothing is in the way.
   *
   * @throws TaskError RUNTIME_UNSUPPORTED where what one server has locked another may take
   */
  checkLocks?(): Verb<void>

  /** Inserts tasks. The statement goes with `inserted`; it may be kept and filled in. */
  insertion(insertion: TaskInsertion): Statement
  /** Runs an insertion of so many rows. @returns their sequences, ascending */
  inserted(insertion: Statement, topic: string, count: number): Verb<readonly number[]>
  /** Inserts tasks but those whose external id is there. @returns `sequence` and `external_id` of what was inserted */
  insertNew(insertion: TaskInsertion): Verb<readonly Row[]>
  /** Begins an insert that may wake whoever waits for the topic. */
  beginPush(topic: string, wake: boolean): { readonly with: Statement; readonly from: Statement }
  /** Changes rows, found by their keys or locked first. @returns what is asked for, of each row that was changed, in no particular order */
  change(change: Change): Verb<readonly Row[]>
  /** Changes those of the tasks that are held: that are held, by this owner, since that very poll. @returns their sequences */
  changeHeld(request: HeldRequest, set: (values: HeldValues) => Statement): Verb<ReadonlySet<number>>
  /** Locks those of the tasks that are held, waiting for whoever has locked them. @returns their sequences */
  lockHeld(request: HeldRequest): Verb<ReadonlySet<number>>
  remove(removal: Removal): Verb<readonly Row[]>
  /** A row with these columns and values, unless one is there with this key. */
  insertUnlessThere(table: Statement, row: Readonly<Record<string, SqlValue | Statement>>, key: string): Statement
  /** Runs an update, a delete or an insert. @returns how many rows it touched */
  touched(write: Statement): Verb<number>

  /** True where a row that is pushed now to the topic `p` would be found through the list only; absent where that never happens. */
  readonly mustList?: Statement

  /** True for a ready row `t`, said so that an index of ready rows is read in its order. */
  readonly ready: Statement
  /**
   * The rows `t` of a topic, between two sequences (exclusive), said so that an index is read in its order; goes with `orderBy`.
   */
  inTopic(topic: string, after?: number, before?: number): Statement
  /** Orders rows `t` of one topic as polls do, said so that an index is read in that order. */
  orderBy(order: PollOrder): Statement
  /** The task table as `t`, to be read by topic and sequence. */
  readonly taskInOrder: Statement
  /** The task table as `t`, to be read by topic and `listed`, in that order. */
  taskListed(order: PollOrder): Statement
  /** The task table by this name, to be read by topic and identifier, and by stage. */
  taskIdentified(name: string): Statement
  /** Whether a column has one of these values: looked up one by one in an index, whatever the statistics say. */
  among(column: Statement, values: readonly number[]): Statement

  /**
   * Takes the first ready tasks of a topic in order of sequence, passing over what others are taking, if the topic is polled so.
   * The strategy is the dialect's own.
   */
  claimPlain(request: ClaimRequest): Verb<Claim>
  /**
   * Locks, until the transaction ends, the lanes of the first candidates (`identifier`, and `place` to order them by), passing over those that others
   * have locked: at most so many lanes. Returns nothing if there was none to lock.
   */
  lockLanes(topic: string, candidates: Statement, limit: number): Verb<Lanes | undefined>
  /** Makes transactions that junction the same identifiers wait for each other, until they end. */
  meet(topic: string, identifiers: readonly string[]): Verb<void>
  /** Notes which rows of a topic this owner has taken, where the claim itself does not, for `heldBy` to find. */
  noteHeld(topic: string, owner: string, sequences: readonly number[]): Verb<void>
  /** Makes room for a new topic. */
  openTopic(topic: string, keyed: boolean): readonly Statement[]
  /** Deletes what only this dialect keeps of a topic. */
  closeTopic(topic: string): readonly Statement[]
  /** Tells listeners, at commit, that what is kept under this name has changed: whether a topic is to be processed, or timers. */
  tellChange(name: string): readonly Statement[]
  /** How many tasks of the topic `p` are ready, active or delayed, counted up to a limit and without reading history. */
  countOpen(state: 'ready' | 'active' | 'delayed', limit: number): Statement
  /** `created` of the ready task of the topic `p` that has waited longest. */
  readonly oldestReady: Statement
  /** Renews the planner's statistics. */
  readonly analyze: readonly Statement[]
  /** Makes the server end what takes longer, until the transaction ends; nothing where it cannot be said for a transaction. */
  limitStatements(timeoutMs: number): readonly Statement[]
  /** Selects topic and sequence of tasks that are held by owners who meet a condition, without reading history. May lock them. */
  heldBy(condition: (owner: Statement) => Statement, limit: number): Statement
  /** Tidies what `claim` left for `heldBy` to find. Runs after every expiry. */
  tidy(): Verb<void>

  /** Makes what a topic lacks; has processes forget what they remember of it, and `heldBy` find what it would have missed. @returns how many */
  renewTopic(topic: string, keyed: boolean): Verb<number>
  /** True for a row `t` that polls of a plain topic find only where it is listed. Goes with `renewTopic`, which comes first. */
  passed(topic: string): Statement
  /** Sees to it that new tasks are numbered after those that are there. @throws TaskError PERMISSION_DENIED */
  advanceSequence(): Verb<Repair['sequence']>

  /**
   * Names how much the task table holds, in steps, for all that is known: a plan that was made for little is bad for much. None where no
   * plan should be kept.
   */
  scale(): string | undefined
  /** Bytes that the task table takes; for `learnExtent`, which `scale` goes by. */
  readonly extent: Statement
  learnExtent(bytes: number): void

  /** The named error for a driver's error, if it is one that callers should tell apart. */
  classify(error: unknown): TaskError | undefined
}
