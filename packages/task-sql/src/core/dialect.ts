import type { Diagnosis, PollOrder, Repair, TaskError } from '@taskstream/task-api'
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
import type { CoordinationStatements } from './coordination-statements.ts'
import type { Examination } from './examination.ts'
import type { SqlValue, Statement } from './statement.ts'
import type { TopicMode } from './topic-mode.ts'
import type { Row, Verb } from './verb.ts'

/**
 * The SQL of one database, in groups. A dialect gives statements and fragments, never flags: a verb uses them and does not ask on
 * which database it runs. `defineDialect` makes a dialect of its parts.
 */
export interface Dialect {
  /** The database's kind, as OpenTelemetry's conventions name it. It is told in traces, and no verb goes by it. */
  readonly system?: string
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
  /** Absent if nodes cannot coordinate on this database. */
  readonly coordination?: CoordinationStatements
  readonly examination: Examination
  /** Absent where topics cannot keep outcomes. */
  readonly ranges?: Ranges
  /** The `TaskError` for a driver's error; undefined for an error that callers need not tell apart. */
  classify(error: unknown): TaskError | undefined
}

/** The names of the tables, as this dialect writes them. */
export interface Tables {
  readonly task: Statement
  readonly topic: Statement
  readonly owner: Statement
  readonly migration: Statement
  /** The rechecks of topics with a condition. */
  readonly turn: Statement
  /** The activations: whether a topic is to be processed. */
  readonly activation: Statement
  /** The timers of periodic tasks. */
  readonly periodic: Statement
  /** What tasks have returned, and which tasks go on with their work. */
  readonly result: Statement
  /** Attempts that neither succeeded nor filtered their task. */
  readonly attempt: Statement
  /** What tasks need. */
  readonly dependency: Statement
  /** Limits of topics: a row for each kind of limit, so that those who keep one do not wait for those who keep another. */
  readonly limit: Statement
  /** How many tasks each owner may hold in topics with a total. */
  readonly slot: Statement
  /** What each process that works on tasks tells of itself. */
  readonly node: Statement
  /** What people have done to tasks. */
  readonly audit: Statement
}

/** The states of tasks that are to be done, as `overview` counts them. */
export type OpenState = 'ready' | 'active' | 'delayed'

/** One step from a version of the tables to the next. A step that was released is never changed. */
export interface MigrationStep {
  readonly version: number
  readonly name: string
  /** The oldest version whose code still works on these tables. It is less than `version` if the step only adds things. */
  readonly worksFrom: number
  readonly statements: readonly Statement[]
}

/** Statements that make and find the tables. */
interface SchemaStatements {
  readonly migrations: readonly MigrationStep[]
  /** Statements that begin a migration: they make the table of migrations, and concurrent migrations wait until this one's transaction ends. */
  readonly begin: readonly Statement[]
  /** One text of these statements, to be read or run by hand. */
  script(statements: readonly string[]): string
  /**
   * Whether this database has the tables, of any version.
   *
   * @throws TaskError RUNTIME_UNSUPPORTED if the server understands the statements but does not do what they say
   */
  find(): Verb<boolean>
}

/** Values and parts of statements. */
export interface Expressions {
  /** The current instant as the time columns store it. */
  now(clock: number | null): Statement
  /** An instant given as epoch milliseconds, as the time columns store it. */
  instant(epochMs: Statement): Statement
  /** `instant` moved by `ms` milliseconds. */
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
  /** Values as a table named `r` with these columns. The text is the same for any number of rows, though one row may have its own. */
  rows(columns: readonly RowColumn[]): Statement
  /** Begins a statement with a table that is made of its own rows. Default: `with recursive`. */
  readonly withRecursive: Statement
  /** Ends a select that returns at most `count` rows. */
  limit(count: Statement): Statement
  /** The same, for rows that an index has in their order. Default: `limit`, where that is enough for the index to be read. */
  limitInOrder(count: Statement): Statement
  /** Ends a select that reads the rows as last committed, even if its transaction otherwise reads an older snapshot. Default: nothing. */
  readonly latest: Statement
  /** Ends a select that keeps others from changing its rows until the transaction ends. Default: nothing, as for an engine with one writer. */
  readonly shared: Statement
  /** Ends a select that locks its rows, without those that others have locked. Default: nothing, as for an engine with one writer. */
  readonly alone: Statement
  /** The name of the column `condition` of a topic's row, quoted where it is a reserved word. Default: `condition`. */
  readonly conditionColumn: string
}

/** How rows `t` of the task table are found. The SQL is written so that an index is used whatever the statistics say. */
export interface AccessPaths {
  /** A condition that finds the row of a topic and sequence by its primary key, whatever other conditions the statement has. */
  byKey(topic: Statement, sequence: Statement): Statement
  /** The task table and a condition on it, to follow `from`: the rows of these sequences, each looked up in an index. */
  byKeys(topic: string, sequences: readonly number[]): Statement
  /** The task table and a condition on it, to follow `from`: the rows of these identifiers of a keyed topic, each looked up in an index. */
  byIdentifiers(topic: string, identifiers: readonly string[]): Statement
  /** The task table and a condition on it, to follow `from`: the rows with these external ids, each looked up in an index. */
  byExternalIds(topic: string, externalIds: readonly string[]): Statement
  /** A condition for the rows of a topic between two sequences (exclusive). With `orderBy` an index is read in its order. */
  inTopic(topic: string, after?: number, before?: number): Statement
  /** The columns by which rows of one topic are ordered as polls take them. An index is read in that order. */
  orderBy(order: PollOrder): Statement
  /** True for a ready row. It lets the database read an index of ready rows in its order. */
  readonly ready: Statement
  /** The task table, to be read by topic and sequence. */
  readonly inOrder: Statement
  /** The task table, to be read by the index of the ready list. */
  inReadyList(order: PollOrder): Statement
  /** The task table with this alias, to be read by topic, identifier and blocking class. */
  identified(name: string): Statement
  /** The table of attempts `t`, to be read by topic and the instant of the end, or by topic, fingerprint and that instant. */
  attempts(by: 'ended' | 'fingerprint', name?: string): Statement
  /** A condition for the attempts `t` of a topic, of one kind of error, or since an instant. With `orderByEnd` an index is read in its order. */
  attemptsOf(of: { readonly topic: string; readonly fingerprint?: string; readonly since?: Statement | undefined }): Statement
  /** The columns by which the attempts of one topic, or of one kind of error in it, are ordered by the instant of their end. */
  orderByEnd(by: 'ended' | 'fingerprint', direction: '' | 'desc'): Statement
  /** The tasks `t` of a topic that have a due time and meet a condition, to follow `from`: the first one first, as an index is read. */
  byDue(topic: string | Statement, which: Statement): Statement
  /** True if a column has one of these values. Each value is looked up in an index. */
  among(column: Statement, values: readonly number[]): Statement
  /** A value by which rows are ordered as their keys stand in a list. */
  placeOf(column: Statement, values: readonly number[]): Statement
}

export interface Writes {
  /** Inserts tasks. `inserted` runs the statement; it may be kept and run again with other values. */
  insertion(insertion: TaskInsertion): Statement
  /** Runs an insertion of `count` rows. @returns their sequences, ascending */
  inserted(insertion: Statement, topic: string, count: number): Verb<readonly number[]>
  /** Inserts tasks, except those whose external id exists in the topic. @returns `sequence` and `external_id` of the inserted rows */
  insertNew(insertion: TaskInsertion): Verb<readonly Row[]>
  /** Whether `insertNew` locks what is beside a taken external id, so that what is known to be taken is better left out. Absent if it does not. */
  readonly locksTaken?: boolean
  /** Deletes all rows of a topic. Default: a plain delete, for engines whose deletes lock nothing that they only read. */
  removeOf(table: Statement, topic: string): Statement
  /** Inserts rows of `from`, with the topic's row `p`, and wakes listeners of the topic. Default: an insert that wakes nobody. */
  insertAndWake(insertion: WakingInsertion): Statement
  /** True if polls would find a row that is pushed to the topic `p` now only in the ready list; absent if that never happens. */
  readonly mustList?: Statement
  /** Changes rows that are found by their keys, or locked first. @returns the columns asked for, of each changed row, in no order */
  change(change: Change): Verb<readonly Row[]>
  /** Changes those tasks that this owner still holds, since the poll that returned them. @returns their sequences */
  changeHeld(request: HeldRequest, set: (values: HeldValues) => Statement): Verb<ReadonlySet<number>>
  /** Whether `changeHeld` also writes rechecks, in the same statement. Default: they need a statement of their own. */
  readonly rechecksHeld?: boolean
  remove(removal: Removal): Verb<readonly Row[]>
  /** Inserts a row with these columns and values, unless the table has a row with this key. */
  insertIfAbsent(table: Statement, row: Readonly<Record<string, SqlValue | Statement>>, key: string): Statement
  /** Runs an update, a delete or an insert. @returns how many rows it touched */
  touched(write: Statement): Verb<number>
}

/** Rows of another table than that of tasks, for which listeners of the topic are to be woken. */
interface WakingInsertion extends Pick<TaskInsertion, 'topic' | 'columns' | 'values' | 'from'> {
  readonly table: Statement
}

/** Locks that last until the transaction ends. */
export interface Locks {
  /** Locks rows `t`. @returns these columns of each locked row, in the order asked for, or else by sequence */
  tasks(selection: Selection, columns: Statement): Verb<readonly Row[]>
  /** Locks rows `t` of timers. @returns these columns of each locked row, in the order of their keys */
  periodic(which: Statement, locked: Selection['locked'], columns: Statement): Verb<readonly Row[]>
  /** Locks rows of these identifiers of a keyed topic that meet a condition. @returns their sequences, ascending */
  identified(
    topic: string,
    identifiers: readonly string[],
    which: Statement,
    locked: Selection['locked'],
  ): Verb<readonly number[]>
  /** Locks those tasks that this owner still holds. It waits for transactions that have locked them. @returns their sequences */
  held(request: HeldRequest): Verb<ReadonlySet<number>>
  /**
   * Locks the lock stripes of the first candidates: at most `limit` stripes, without those that others have locked. A candidate has
   * an `identifier`, and a `place` that gives the order.
   *
   * @returns the stripes; undefined if none was locked
   */
  stripes(topic: string, candidates: Statement, limit: number): Verb<LockStripes | undefined>
  /** Makes transactions that call `junction` for the same identifiers wait for each other. */
  junction(topic: string, identifiers: readonly string[]): Verb<void>
  /**
   * Looks whether another transaction has locked the row of a task, without waiting for it. Absent where that cannot be seen, or where no rows are locked.
   *
   * @returns the session of that transaction, where the server tells it; undefined if nobody has locked the row
   */
  lockedBy?(topic: string, sequence: number): Verb<Pick<Diagnosis, 'session'> | undefined>
  /**
   * Called before a poll only locks tasks, instead of making them active. Absent if the database always allows that.
   *
   * @throws TaskError RUNTIME_UNSUPPORTED if another server of a cluster may take the tasks that this one has locked
   */
  check?(): Verb<void>
}

/** Statements that take tasks, and that find the tasks which owners hold. */
export interface Claims {
  /**
   * Takes the first ready tasks of a plain topic in the order of their sequences, and skips tasks that others are taking. It takes
   * none if the topic has another mode. Each dialect has its own strategy.
   */
  plain(request: ClaimRequest): Verb<Claim>
  /**
   * Takes tasks of a topic with a condition by a single statement, which is committed as a whole. It takes none if the topic has another mode. Absent where
   * that takes several statements (`claimSingular`).
   */
  singular?(request: ClaimRequest, mode: TopicMode): Verb<Claim>
  /**
   * Selects topic, sequence and owner of tasks whose owners meet a condition, without reading ended tasks. It may lock the rows, unless they are only to be
   * read, and then skips those that others have locked.
   */
  claimedBy(condition: (owner: Statement) => Statement, limit: number, how?: 'read'): Statement
  /** How many tasks of the topic `p` are ready, active or delayed. It counts up to a limit, and reads no ended tasks. */
  countOpen(state: OpenState, limit: number): Statement
  /** `created` of the ready task of the topic `p` that has waited longest. */
  readonly oldestReady: Statement
  /** Selects `sequence` of the first ready tasks of a topic. It reads no ended tasks, and locks nothing. */
  firstReady(topic: string, limit: number): Statement
  /**
   * Selects by which `peek` looks at topics, at most 128 of them. They read no ended tasks. Default: a select for each topic, as not every server finds
   * an index for the topic of an outer row.
   */
  glimpses(topics: readonly string[]): readonly Glimpse[]
  /**
   * The next identifiers of a keyed topic, ascending, after this one or from the first. Absent where a statement can walk an index by itself, each step by
   * what the one before has found.
   */
  nextIdentifiers?(topic: string, after: string | undefined, limit: number): Verb<readonly string[]>
  /** Assignments that every claim makes besides its own, each with a comma behind it. Default: nothing. */
  readonly alsoSet: Statement
  /** Records which rows of a topic this owner has taken, so that `claimedBy` finds them. `plain` records its own rows. Default: nothing. */
  record(topic: string, owner: string, sequences: readonly number[]): Verb<void>
  /** Deletes records that `claimedBy` no longer needs. Every expiry calls it. Default: nothing. */
  tidy(): Verb<void>
}

/**
 * Ranges hold the tasks of topics that keep outcomes: a row stays ready and unlisted while it is held, and its range says who holds it
 * (docs/decisions/ranges.md).
 */
export interface Ranges {
  /** Takes tasks of a topic that keeps outcomes. It takes none if the topic has another mode. */
  claim(request: ClaimRequest): Verb<Claim>
  /** True for a topic `p` that keeps outcomes. */
  readonly keepsOutcomes: Statement
  /** True for a row `t` that a range holds. */
  readonly isHeld: Statement
  /** Who holds a row `t` by a range, or null. */
  readonly owner: Statement
  /** Since when a range holds a row `t`, or null. */
  readonly leased: Statement
  /** True for a row `t` of a topic whose numbers come from the sequence of all topics. */
  readonly sharesNumbers: Statement
  /** Selects topic, sequence and owner of what ranges hold whose owners meet a condition. */
  heldBy(condition: (owner: Statement) => Statement, limit: number): Statement
  /** Keeps polls from taking fresh tasks until the transaction ends, if the topic keeps outcomes. Later statements see who holds what. */
  lockFresh(topic: string): Verb<void>
  /**
   * Makes active rows of what is held by ranges whose owners meet a condition, until there are so many. Ranges that others have locked are left.
   *
   * @param only the topic, and the sequences there that stay as they are. Default: all of all topics
   */
  spill(
    condition: (owner: Statement) => Statement,
    limit: number,
    only?: { readonly topic: string; readonly kept: ReadonlySet<number> },
  ): Verb<void>
  /** Notes, in a transaction that has written nothing yet, from when on blocks that are missing cannot come any more. */
  note(): Statement
  /** Keeps the ranges few: makes one of those that have ended and lie side by side. */
  merge(): Verb<void>
}

/** How a select finds out about one topic, or several. */
export interface Glimpse {
  /** The table of topics `p`, with a condition, to follow `from`. */
  readonly from: Statement
  /** The topic, for conditions on tasks: a value, or a column. */
  readonly topic: Statement
  /** Greater than zero if there are ready tasks, or there may be. */
  readonly ready: Statement
}

/** Repairs of things other than the derived columns of tasks. */
export interface Repairs {
  /**
   * Makes missing lock stripes, where the dialect has any, and records active tasks that `claimedBy` would have missed. Processes then
   * forget their knowledge of the topic. Default: nothing.
   *
   * @returns how many active tasks were recorded
   */
  renewTopic(topic: string, keyed: boolean): Verb<number>
  /** True for a row `t` of a plain topic that polls find only in the ready list. `renewTopic` runs first. Default: no row. */
  passed(topic: string): Statement
  /** Makes sure that new tasks get greater sequences than existing ones. Default: they always do. @throws TaskError PERMISSION_DENIED */
  advanceSequence(): Verb<Repair['sequence']>
}

/** Statements for a topic beside those for its row. Default: none. */
export interface TopicStatements {
  /** Makes a new topic's partition, lock stripes and the like. */
  open(topic: string, options: Pick<TopicMode, 'record'> & { readonly keyed: boolean }): readonly Statement[]
  /** Deletes the rows of a topic in tables that only this dialect has. */
  close(topic: string): readonly Statement[]
  /** Notifies listeners, at commit, that the activation of the topic of this name has changed, or that timers have (`timersName`). */
  notify(name: string): readonly Statement[]
  /** Wakes listeners, at commit, as tasks of the topic have become ready other than by a push. */
  wake(topic: string): readonly Statement[]
}

/** For which size of the task table a statement's plan is kept. Default: the size does not matter, as statements name their indexes. */
export interface Plans {
  /**
   * The size class of the task table, as last learned: a plan that was made for a small table is bad for a large one. Undefined if no
   * plan should be kept.
   */
  sizeClass(): string | undefined
  /** The size of the task table in bytes, as an expression. Claims read it and pass it to `learn`. */
  readonly tableBytes: Statement
  learn(bytes: number): void
}

/** Statements for the server and the session. Default: none. */
export interface SessionStatements {
  /** Renews the planner's statistics. */
  readonly analyze: readonly Statement[]
  /** Limits the time of each further statement in the transaction. Empty if the server has no such limit for a transaction. */
  limitStatements(timeoutMs: number): readonly Statement[]
  /**
   * Limits the time of each further statement of the session, and ends that, for a server that has no limit for a transaction: its sessions outlive
   * transactions. Absent where a transaction has one, or where there is none at all.
   */
  limitSession?(timeoutMs: number): { readonly begin: readonly Statement[]; readonly end: readonly Statement[] }
  /**
   * Called at every start and expiry, and before a topic is reported as unknown. Absent if the database hides no rows.
   *
   * @throws TaskError PERMISSION_DENIED if the database hides rows of the tables from this user, whose polls would never see those tasks
   */
  checkSeen?(): Verb<void>
}
