import { hostname } from 'node:os'
import { randomBytes } from 'node:crypto'
import { checkNames, checkText, cutText, invalid, optionNames, taskLimits } from '@taskstream/task-api'
import type { CoordinationRepository, Execution, Outcome, TimedTaskRepository, TransactionSource } from '@taskstream/task-api'
import { heldColumns } from './core/task-row.ts'
import { Templates } from './core/template.ts'
import type { Dialect } from './core/dialect.ts'
import { runVerb } from './core/run-verb.ts'
import type { Running } from './core/run-verb.ts'
import { bindVerbs, frequent as frequentVerbs, verbs } from './verbs/verbs.ts'
import type { AnyVerb, BoundVerbs, VerbName } from './verbs/verbs.ts'
import { checkSchema, migrate, plan, schemaStatus } from './verbs/migrate.ts'
import type { Migration, MigrationPlan, SchemaStatus } from './verbs/migrate.ts'
import type { SqlAdapter, Verb } from './core/verb.ts'
import { told } from './told.ts'
import { expectEnd } from './core/expected-end.ts'
import type { Context } from './core/verb-context.ts'
import { timerColumns } from './verbs/periodic/columns.ts'
import { get, list, lock, lockAll, lockDue, now, unfinished } from './verbs/periodic/read.ts'
import { add, change, notify, remove } from './verbs/periodic/write.ts'
import { holds, leader, takeOver } from './verbs/coordination/leaders.ts'
import { beat, createTables, leave, limitIdle, tables } from './verbs/coordination/members.ts'

export interface SqlTaskRepositoryOptions<Transaction, E extends Execution> {
  /** The SQL of the database: `postgres()`, `sqlite()`, `mariadb()`, `mysql()` or `oracle()`. */
  readonly dialect: Dialect
  /**
   * Runs statements in transactions of your driver or library: `fromPg`, `fromBetterSqlite3`, `fromMysql2`, `fromOracledb(oracledb)`,
   * `fromKysely(sql)` and others, or your own.
   */
  readonly adapter: SqlAdapter<Transaction, E>
  /**
   * The release of your program, 1 to 100 characters: failed attempts and nodes are recorded with it. Default: the environment variable
   * `TASKSTREAM_RELEASE`, or else the version of the package whose script `npm run` has started; a long one is cut.
   */
  readonly release?: string
  /**
   * Names what kind of error a failed attempt has ended with, a text of any length: errors of the same kind are one group of `errors`. Without an answer,
   * and if the function throws, the error's first line and its first function decide. It is called for each failed attempt, so it should be quick.
   *
   * @example
   * sqlTaskRepository({ dialect, adapter, fingerprint: (error) => (error instanceof PartnerError ? `partner ${error.status}` : undefined) })
   */
  readonly fingerprint?: (error: Error) => string | undefined
  /** The owner's name, 1 to 200 characters. The repository adds an incarnation. Default: host and process id. */
  readonly owner?: string
  /**
   * The property `owner` of another repository, for which this one acts: a thread uses it to send the heartbeats of that owner. It cannot
   * be given together with the option `owner`.
   */
  readonly speaksFor?: string
  /** Replaces the database's clock in every statement, for tests. */
  readonly clock?: () => Date
}

const names = optionNames<SqlTaskRepositoryOptions<never, never>>('a repository', {
  dialect: true,
  adapter: true,
  release: true,
  fingerprint: true,
  owner: true,
  speaksFor: true,
  clock: true,
})

/** A `TaskRepository` in a SQL database. It also keeps timers, and migrates its tables. */
export interface SqlTaskRepository<Transaction, E extends Execution = 'async'> extends TimedTaskRepository<Transaction, E> {
  /** Keeps who leads a group of nodes: see `@taskstream/task-coordination`. */
  readonly coordination: CoordinationRepository<Transaction, E>
  /**
   * Brings the tables to the version of this release, in one transaction of `transactions`. It does nothing if they have that version
   * already, and may run in several processes at once.
   *
   * @throws TaskError SCHEMA_NEWER if this release does not work on tables of a later one; PERMISSION_DENIED if this user may not change
   *   the tables. In both cases nothing was written
   */
  migrate(transactions: TransactionSource<Transaction>): Promise<Migration>
  /**
   * The SQL that `migrate` would run, to be read, or to be run by hand instead. Nothing is written.
   *
   * @throws TaskError SCHEMA_NEWER
   */
  plan(transactions: TransactionSource<Transaction>): Promise<MigrationPlan>
  /** The version of the tables, and whether this release works on them. */
  schemaStatus(transactions: TransactionSource<Transaction>): Promise<SchemaStatus>
  /**
   * Makes a function of a verb that you have written. It uses the same tables, adapter and clock as the repository.
   *
   * @example
   * const ownerCount = tasks.verb(function* ({ dialect }) {
   *   return Number((yield sql`select count(*) as owners from ${dialect.tables.owner}`)[0]?.['owners'])
   * })
   * await ownerCount(tx)
   */
  verb<Arguments extends readonly unknown[], Result>(
    verb: (context: VerbContext, ...args: Arguments) => Verb<Result>,
  ): (transaction: Transaction, ...args: Arguments) => Outcome<E, Result>
}

/** The first argument of a verb that you have written. */
export interface VerbContext {
  readonly dialect: Dialect
  /** The argument for `dialect.expr.now`: epoch milliseconds of a test clock, or null for the database's own clock. */
  now(): number | null
  /**
   * The repository's verbs, for yours: without the transaction, which is that of your verb.
   *
   * @example
   * const pushTwice = tasks.verb(function* ({ verbs }, topic: string) {
   *   return [...(yield* verbs.push(topic, 'a')), ...(yield* verbs.push(topic, 'b'))]
   * })
   */
  readonly verbs: BoundVerbs
}

/**
 * Makes a repository of tasks in your database.
 *
 * @throws TaskError ARGUMENT_INVALID if the owner's name is empty or too long
 * @example
 * const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromPg })
 * await tasks.migrate(pgTransactions(pool))
 */
export function sqlTaskRepository<Transaction, E extends Execution>(
  options: SqlTaskRepositoryOptions<Transaction, E>,
): SqlTaskRepository<Transaction, E> {
  checkNames(names, options)
  const { dialect, adapter, clock, speaksFor } = options
  const { owner: ownerName = speaksFor?.replace(/:[0-9a-f]{12}$/, '') ?? `${hostname().slice(0, 180)}:${process.pid}` } = options
  checkText('owner', ownerName, taskLimits.ownerNameLength)
  if (speaksFor !== undefined && (options.owner !== undefined || speaksFor === ownerName))
    throw invalid('speaksFor', speaksFor, "must be another repository's owner, and stand without an owner")
  const { release = releaseOfEnvironment() } = options
  if (release !== undefined) checkText('release', release, taskLimits.releaseLength)
  const { fingerprint } = options
  if (fingerprint !== undefined && typeof fingerprint !== 'function')
    throw invalid('fingerprint', fingerprint, 'must be a function that names the kind of an error')
  const context: Context = {
    dialect,
    ownerName,
    release,
    fingerprint,
    // With an incarnation, a process that starts again under its old name is not taken for its former self.
    owner: speaksFor ?? `${ownerName}:${randomBytes(6).toString('hex')}`,
    now: () => clock?.().getTime() ?? null,
    modes: new Map(),
    beat: { seenMs: undefined },
    looks: new Map(),
    unfinished: new Set(),
    places: new Map(),
    columns: heldColumns(dialect, null),
    timerColumns: timerColumns(dialect),
    single: new Templates(),
  }
  // Plans are kept only for verbs that workers and producers call all the time. The other verbs are rare, and their best plan depends
  // on their values: a dead owner, a range of sequences.
  const rare: Running = { classify: dialect.classify, planOf: () => undefined }
  const frequent: Running = {
    classify: dialect.classify,
    planOf: (statement) => (statement.stablePlan ? 'any scale' : dialect.plans.sizeClass()),
  }
  const bindTo =
    (running: Running) =>
    <Arguments extends readonly unknown[], Result>(verb: (context: Context, ...args: Arguments) => Verb<Result>) =>
    (transaction: Transaction, ...args: Arguments): Outcome<E, Result> =>
      runVerb(adapter, transaction, verb(context, ...args), running)
  const often = bindTo(frequent)
  const bind = bindTo(rare)
  const bindDialect = <Arguments extends readonly unknown[], Result>(
    verb: (dialect: Dialect, ...args: Arguments) => Verb<Result>,
  ): ((transaction: Transaction, ...args: Arguments) => Outcome<E, Result>) =>
    bind((_context: Context, ...args: Arguments) => verb(dialect, ...args))
  const verbContext: VerbContext = { dialect, now: context.now, verbs: bindVerbs(context) }
  const mine = Object.entries(verbs).map(([name, verb]) => [
    name,
    told(
      name as VerbName,
      { owner: context.owner, system: dialect.system, adapter },
      (frequentVerbs.has(name as VerbName) ? often : bind)(verb as AnyVerb),
    ),
  ])
  return {
    execution: adapter.execution,
    owner: context.owner,
    found: (topic) => {
      const mode = context.modes.get(topic)
      if (!mode) return undefined
      const isSingle = mode.condition !== 'none' && dialect.claims.singular && dialect.writes.rechecksHeld
      const { order, condition } = mode
      return { single: isSingle ? { order, condition } : undefined, more: context.unfinished.has(topic) }
    },
    ...(Object.fromEntries(mine) as Pick<TimedTaskRepository<Transaction, E>, VerbName>),
    timers: {
      check: bind(() => checkSchema(dialect)),
      now: bind(now),
      lockDue: bind(lockDue),
      lock: bind(lock),
      lockAll: bind(lockAll),
      get: bind(get),
      list: bind(list),
      add: bind(add),
      change: bind(change),
      remove: bind(remove),
      unfinished: bind(unfinished),
      notify: bind(notify),
    },
    coordination: {
      tables: bindDialect(tables),
      createTables: bindDialect(createTables),
      beat: bindDialect(beat),
      leave: bindDialect(leave),
      leader: bindDialect(leader),
      takeOver: bindDialect(takeOver),
      holds: bindDialect(holds),
      limitIdle: bindDialect(limitIdle),
    },
    migrate: (transactions) =>
      transactions(async (transaction): Promise<Migration> => {
        expectEnd(transaction as object)
        return await runVerb(adapter, transaction, migrate(dialect), rare)
      }),
    plan: (transactions) =>
      transactions(async (transaction): Promise<MigrationPlan> => await runVerb(adapter, transaction, plan(dialect), rare)),
    schemaStatus: (transactions) =>
      transactions(
        async (transaction): Promise<SchemaStatus> => await runVerb(adapter, transaction, schemaStatus(dialect), rare),
      ),
    verb:
      (verb) =>
      (transaction, ...args) =>
        runVerb(adapter, transaction, verb(verbContext, ...args), rare),
  }
}

/** No program fails to start because its release has a long name. */
function releaseOfEnvironment(): string | undefined {
  const name = process.env['TASKSTREAM_RELEASE'] || process.env['npm_package_version']
  return name ? cutText(name.toWellFormed(), taskLimits.releaseLength) : undefined
}
