import { hostname } from 'node:os'
import { randomBytes } from 'node:crypto'
import { checkNames, checkText, invalid, optionNames, taskLimits } from '@taskstream/task-api'
import type {
  Execution,
  Outcome,
  PushedTask,
  PushOptions,
  TaskCreation,
  TimedTaskRepository,
  TransactionSource,
} from '@taskstream/task-api'
import { heldColumns } from './core/task-row.ts'
import { Templates } from './core/template.ts'
import type { Dialect } from './core/dialect.ts'
import { runVerb } from './core/run-verb.ts'
import type { Running } from './core/run-verb.ts'
import { checkSchema, migrate, plan, schemaStatus } from './verbs/migrate.ts'
import type { Migration, MigrationPlan, SchemaStatus } from './verbs/migrate.ts'
import type { SqlAdapter, Verb } from './core/verb.ts'
import { noteDefinitions } from './core/definitions.ts'
import { activate, activations, deactivate } from './verbs/activation.ts'
import { cancel } from './verbs/cancel.ts'
import { complete } from './verbs/complete.ts'
import type { Context } from './core/verb-context.ts'
import { count } from './verbs/count.ts'
import { expire } from './verbs/expire.ts'
import { handBack } from './verbs/hand-back.ts'
import { hold } from './verbs/hold.ts'
import { lost } from './verbs/lost.ts'
import { junction } from './verbs/junction.ts'
import { overview } from './verbs/overview.ts'
import { heartbeat, owners, purgeOwners, register, unregister } from './verbs/owners.ts'
import { page, task } from './verbs/page.ts'
import { timerColumns } from './verbs/periodic/columns.ts'
import { get, list, lock, lockAll, lockDue, now, unfinished } from './verbs/periodic/read.ts'
import { add, change, notify, remove } from './verbs/periodic/write.ts'
import { poll } from './verbs/poll.ts'
import { purge, purgeAll } from './verbs/purge.ts'
import { push } from './verbs/push.ts'
import { reassign, reassignAll } from './verbs/reassign.ts'
import { reschedule } from './verbs/reschedule.ts'
import { reclaim } from './verbs/reclaim.ts'
import { recreate, redrive } from './verbs/recreate.ts'
import { promoteDue } from './verbs/promote-due.ts'
import { repair } from './verbs/repair.ts'
import { resolve, results } from './verbs/results.ts'
import { destroy, initialize, limitStatements, refresh, topics } from './verbs/topics.ts'

export interface SqlTaskRepositoryOptions<Transaction, E extends Execution> {
  /** The SQL of the database: `postgres()`, `sqlite()`, `mariadb()`, `mysql()` or `oracle()`. */
  readonly dialect: Dialect
  /**
   * Runs statements in transactions of your driver or library: `fromPg`, `fromBetterSqlite3`, `fromMysql2`, `fromOracledb(oracledb)`,
   * `fromKysely(sql)` and others, or your own.
   */
  readonly adapter: SqlAdapter<Transaction, E>
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
  owner: true,
  speaksFor: true,
  clock: true,
})

/** A `TaskRepository` in a SQL database. It also keeps timers, and migrates its tables. */
export interface SqlTaskRepository<Transaction, E extends Execution = 'async'> extends TimedTaskRepository<Transaction, E> {
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
  /** Pushes tasks, as the repository's `push` does. @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN, TOPIC_NOT_KEYED, TRANSACTION_CONFLICT */
  push(
    topic: string,
    creations: string | TaskCreation | readonly (string | TaskCreation)[],
    options?: PushOptions,
  ): Verb<PushedTask[]>
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
  const context: Context = {
    dialect,
    ownerName,
    // With an incarnation, a process that starts again under its old name is not taken for its former self.
    owner: speaksFor ?? `${ownerName}:${randomBytes(6).toString('hex')}`,
    now: () => clock?.().getTime() ?? null,
    modes: new Map(),
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
  const verbContext: VerbContext = {
    dialect,
    now: context.now,
    push: (topic, creations, options) => push(context, topic, creations, options),
  }
  return {
    execution: adapter.execution,
    owner: context.owner,
    push: often(push),
    poll: often(poll),
    hold: often(hold),
    lost: bind(lost),
    complete: often(complete),
    handBack: often(handBack),
    reclaim: bind(reclaim),
    promoteDue: often(promoteDue),
    recreate: bind(recreate),
    redrive: bind(redrive),
    reassign: bind(reassign),
    reassignAll: bind(reassignAll),
    cancel: bind(cancel),
    reschedule: bind(reschedule),
    junction: bind(junction),
    initialize: bind(initialize),
    topics: bind(topics),
    destroy: bind(destroy),
    refresh: bind(refresh),
    limitStatements: bind(limitStatements),
    repair: bind(repair),
    task: bind(task),
    page: bind(page),
    overview: bind(overview),
    count: bind(count),
    results: bind(results),
    resolve: bind(resolve),
    purge: bind(purge),
    purgeAll: bind(purgeAll),
    activate: bind(activate),
    deactivate: bind(deactivate),
    activations: bind(activations),
    register: bind(register),
    unregister: bind(unregister),
    heartbeat: often(heartbeat),
    owners: bind(owners),
    purgeOwners: bind(purgeOwners),
    expire: bind(expire),
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
    migrate: (transactions) =>
      transactions(async (transaction): Promise<Migration> => {
        noteDefinitions(transaction as object)
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
