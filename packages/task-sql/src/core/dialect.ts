import type { PollOrder, Repair, TaskError } from '@taskstream/task-api'
import type {
  Change,
  Claim,
  ClaimRequest,
  HeldRequest,
  HeldValues,
  LockStripes,
  Removal,
  RowColumn,
  Selection,
  TaskInsertion,
} from './requests.ts'
import type { SqlValue, Statement } from './statement.ts'
import type { Row, Verb } from './verb.ts'

/**
 * What one database says differently, in groups. Answers, never flags: a verb splices in what it is given and does not ask which
 * database it is on. `defineDialect` makes one of what a database needs.
 */
export interface Dialect {
  readonly tables: Tables
  readonly schema: SchemaStatements
  readonly expr: Expressions
  readonly paths: AccessPaths
  readonly writes: Writes
  readonly locks: Locks
  readonly claims: Claims
  readonly repair: Repairs
  readonly topics: TopicStatements
  readonly plans: Plans
  readonly session: SessionStatements
  /** The named error for a driver's error, if it is one that callers should tell apart. */
  classify(error: unknown): TaskError | undefined
}

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

/** One step from one version of the schema to the next; never changed once released. */
export interface MigrationStep {
  readonly version: number
  readonly name: string
  /** The oldest version that code may know and still work on these tables: less than `version` if all that it does is add. */
  readonly worksFrom: number
  readonly statements: readonly Statement[]
}

/** How tables are made. */
interface SchemaStatements {
  readonly migrations: readonly MigrationStep[]
  /** Statements that make concurrent migrations wait for each other, until the transaction ends, and make the table that notes them. */
  readonly begin: readonly Statement[]
  /** Statements as one text, to be read or run by hand. */
  script(statements: readonly string[]): string
  /**
   * Whether there are tables of ours, of whatever version.
   *
   * @throws TaskError RUNTIME_UNSUPPORTED if the server speaks the language, and does not do what it says
   */
  find(): Verb<boolean>
}

/** Values and parts of statements. */
export interface Expressions {
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
  /** Values as the text of a JSON array. */
  jsonArray(values: Statement): Statement
  readonly true: Statement
  readonly false: Statement
  /** Values as a table named `r` with these columns; any number of rows is the same text. */
  rows(columns: readonly RowColumn[]): Statement
  /** Ends a select of which so many rows are wanted: the first, where it has an order. */
  limit(count: Statement): Statement
  /** Ends a select that is to see what was committed last, whatever else its transaction sees. Default: nothing. */
  readonly latest: Statement
  /** The name of the column `condition` of a topic's row: a reserved word in some databases. Default: `condition`. */
  readonly conditionColumn: string
}

/** How rows `t` of the task table are found: said so that an index is read, whatever the statistics say. */
export interface AccessPaths {
  /** Finds the row of a topic and sequence by its primary key, whatever else the statement asks of it. */
  byKey(topic: Statement, sequence: Statement): Statement
  /** The task table, and its rows of these sequences, found one by one: what stands between `from` and the rest of a condition. */
  byKeys(topic: string, sequences: readonly number[]): Statement
  /** The rows of these identifiers of a keyed topic, looked up one by one: what stands between `from` and the rest of a condition. */
  byIdentifiers(topic: string, identifiers: readonly string[]): Statement
  /** The rows of a topic, between two sequences (exclusive), said so that an index is read in its order; goes with `orderBy`. */
  inTopic(topic: string, after?: number, before?: number): Statement
  /** Orders rows of one topic as polls do, said so that an index is read in that order. */
  orderBy(order: PollOrder): Statement
  /** True for a ready row, said so that an index of ready rows is read in its order. */
  readonly ready: Statement
  /** The task table, to be read by topic and sequence. */
  readonly inOrder: Statement
  /** The task table, to be read by topic and `listed`, in that order. */
  inReadyList(order: PollOrder): Statement
  /** The task table by this name, to be read by topic and identifier, and by stage. */
  identified(name: string): Statement
  /** Whether a column has one of these values: looked up one by one in an index. */
  among(column: Statement, values: readonly number[]): Statement
}

/** Statements that write. */
export interface Writes {
  /** Inserts tasks. The statement goes with `inserted`; it may be kept and filled in. */
  insertion(insertion: TaskInsertion): Statement
  /** Runs an insertion of so many rows. @returns their sequences, ascending */
  inserted(insertion: Statement, topic: string, count: number): Verb<readonly number[]>
  /** Inserts tasks but those whose external id is there. @returns `sequence` and `external_id` of what was inserted */
  insertNew(insertion: TaskInsertion): Verb<readonly Row[]>
  /** Inserts rows of `from`, with the topic's row `p`, and wakes whoever waits for the topic. Default: a plain insert, as nobody is woken. */
  insertAndWake(insertion: WakingInsertion): Statement
  /** True where a row that is pushed now to the topic `p` would be found through the list only; absent where that never happens. */
  readonly mustList?: Statement
  /** Changes rows, found by their keys or locked first. @returns what is asked for, of each row that was changed, in no particular order */
  change(change: Change): Verb<readonly Row[]>
  /** Changes those of the tasks that are held: that are held, by this owner, since that very poll. @returns their sequences */
  changeHeld(request: HeldRequest, set: (values: HeldValues) => Statement): Verb<ReadonlySet<number>>
  remove(removal: Removal): Verb<readonly Row[]>
  /** A row with these columns and values, unless one is there with this key. */
  insertIfAbsent(table: Statement, row: Readonly<Record<string, SqlValue | Statement>>, key: string): Statement
  /** Runs an update, a delete or an insert. @returns how many rows it touched */
  touched(write: Statement): Verb<number>
}

/** Rows of a table of ours, other than tasks, of which polls of the topic are to know. */
interface WakingInsertion extends Pick<TaskInsertion, 'topic' | 'columns' | 'values' | 'from'> {
  readonly table: Statement
}

/** What is locked until the transaction ends. */
export interface Locks {
  /** Locks rows `t`. @returns these columns of each, as they are then, in the order asked for or by sequence */
  tasks(selection: Selection, columns: Statement): Verb<readonly Row[]>
  /** Locks rows `t` of periodic tasks. @returns these columns of each, as they are then, in order of their keys */
  periodic(which: Statement, locked: Selection['locked'], columns: Statement): Verb<readonly Row[]>
  /** Locks rows of these identifiers of a keyed topic that meet a condition. @returns their sequences, ascending */
  identified(
    topic: string,
    identifiers: readonly string[],
    which: Statement,
    locked: Selection['locked'],
  ): Verb<readonly number[]>
  /** Locks those of the tasks that are held, waiting for whoever has locked them. @returns their sequences */
  held(request: HeldRequest): Verb<ReadonlySet<number>>
  /**
   * Locks the stripes of the first candidates (`identifier`, and `place` to order them by), passing over those that others have locked: at
   * most so many stripes. Returns nothing if there was none to lock.
   */
  stripes(topic: string, candidates: Statement, limit: number): Verb<LockStripes | undefined>
  /** Makes transactions that junction the same identifiers wait for each other, until they end. */
  junction(topic: string, identifiers: readonly string[]): Verb<void>
  /**
   * Asked before tasks are only locked, and not made active; absent where nothing is in the way.
   *
   * @throws TaskError RUNTIME_UNSUPPORTED where what one server has locked another may take
   */
  check?(): Verb<void>
}

/** How tasks are taken, and how those that are taken are found again. */
export interface Claims {
  /**
   * Takes the first ready tasks of a topic in order of sequence, passing over what others are taking, if the topic is polled so.
   * The strategy is the dialect's own.
   */
  plain(request: ClaimRequest): Verb<Claim>
  /** Selects topic and sequence of tasks that are held by owners who meet a condition, without reading history. May lock them. */
  claimedBy(condition: (owner: Statement) => Statement, limit: number): Statement
  /** How many tasks of the topic `p` are ready, active or delayed, counted up to a limit and without reading history. */
  countOpen(state: 'ready' | 'active' | 'delayed', limit: number): Statement
  /** `created` of the ready task of the topic `p` that has waited longest. */
  readonly oldestReady: Statement
  /** Notes which rows of a topic this owner has taken, where the claim itself does not, for `heldBy` to find. Default: nothing. */
  record(topic: string, owner: string, sequences: readonly number[]): Verb<void>
  /** Tidies what claims left for `heldBy` to find. Runs after every expiry. Default: nothing. */
  tidy(): Verb<void>
}

/** What `repair` mends beside tasks. */
export interface Repairs {
  /** Makes what a topic lacks; has processes forget what they remember of it, and `heldBy` find what it would have missed. Default: 0. @returns how many */
  renewTopic(topic: string, keyed: boolean): Verb<number>
  /** True for a row `t` that polls of a plain topic find only where it is listed. Goes with `renewTopic`, which comes first. Default: no row. */
  passed(topic: string): Statement
  /** Sees to it that new tasks are numbered after those that are there. Default: they always are. @throws TaskError PERMISSION_DENIED */
  advanceSequence(): Verb<Repair['sequence']>
}

/** What is kept of topics beside their rows. Default: nothing. */
export interface TopicStatements {
  /** Makes room for a new topic. */
  open(topic: string, keyed: boolean): readonly Statement[]
  /** Deletes what only this dialect keeps of a topic. */
  close(topic: string): readonly Statement[]
  /** Tells listeners, at commit, that what is kept under this name has changed: whether a topic is to be processed, or timers. */
  notify(name: string): readonly Statement[]
}

/** For which size of the table a statement's plan is kept. Default: statements name their indexes, and any plan serves. */
export interface Plans {
  /**
   * Names how much the task table holds, in steps, for all that is known: a plan that was made for little is bad for much. None where no
   * plan should be kept.
   */
  sizeClass(): string | undefined
  /** Bytes that the task table takes; for `learn`, which `sizeClass` goes by. */
  readonly tableBytes: Statement
  learn(bytes: number): void
}

/** What is said to the server. Default: nothing. */
export interface SessionStatements {
  /** Renews the planner's statistics. */
  readonly analyze: readonly Statement[]
  /** Makes the server end what takes longer, until the transaction ends; nothing where it cannot be said for a transaction. */
  limitStatements(timeoutMs: number): readonly Statement[]
  /**
   * Asked at every start and expiry, and before a topic is said to be unknown; absent where a database hides no rows.
   *
   * @throws TaskError PERMISSION_DENIED where it hides rows of ours from this user, who would pass over tasks for ever
   */
  checkSeen?(): Verb<void>
}
