import type { DatabaseSync } from 'node:sqlite'
import { checkNames, invalid, optionNames } from '@taskstream/task-api'
import type { PushedTask, TaskCreation, TransactionSource } from '@taskstream/task-api'
import type { TaskHandler } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import type { SqlAdapter, SqlTaskRepository } from '@taskstream/task-sql'
import { fromBetterSqlite3, openBetterSqlite3 } from '@taskstream/task-sql/better-sqlite3'
import type { BetterSqlite3Connection } from '@taskstream/task-sql/better-sqlite3'
import { fromNodeSqlite, openNodeSqlite, sqlite, sqliteTransactions } from '@taskstream/task-sql/node-sqlite'
import { drain } from './drain.ts'
import type { Drained, DrainOptions } from './drain.ts'
import { testClock } from './test-clock.ts'
import type { TestClock } from './test-clock.ts'

export interface TestTasksOptions {
  /** Topics to initialise. Others can be initialised later. */
  readonly topics?: readonly string[]
  /** The instant that the clock shows at first. Default: the time of the call. The clock stands still in either case. */
  readonly now?: Date
  /** `'node:sqlite'` (default) comes with Node.js; `'better-sqlite3'` must be installed. */
  readonly driver?: 'node:sqlite' | 'better-sqlite3'
}

const names = optionNames<TestTasksOptions>('testTasks', { topics: true, now: true, driver: true })

/** A repository for one test. It is a real one, on SQLite in memory, with a clock that the test moves. */
export interface TestTasks<Database> extends AsyncDisposable {
  /** The repository. Its owner is registered, and its verbs are synchronous and take `database` as their transaction. */
  readonly repository: SqlTaskRepository<Database, 'sync'>
  /** Opens transactions on `database`, one at a time, for a `TaskNode` or other code that opens transactions by itself. */
  readonly transactions: TransactionSource<Database>
  /** The connection, for the test's own tables. */
  readonly database: Database
  /** The clock from which the repository takes the time. */
  readonly clock: TestClock

  /** Makes another repository on the same database and clock, whose owner is not registered yet. */
  owner(name?: string): SqlTaskRepository<Database, 'sync'>

  /**
   * Pushes tasks in a transaction of their own.
   *
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   */
  push(topic: string, ...creations: readonly (string | TaskCreation)[]): Promise<PushedTask[]>

  /**
   * Handles all ready tasks of a topic batch by batch, as a node would with this handler and retry policy. It also promotes due
   * tasks and handles tasks that the handler pushes to the topic. No timers fire, and time passes only with `advance`.
   *
   * @throws TaskError ARGUMENT_INVALID, DRAIN_ENDLESS, TOPIC_UNKNOWN; also an error that a node would only report, as when a
   * handler throws after it completed its batch
   * @example
   * const { handled } = await tasks.drain('invoices', handler, { retry: exponential({ tries: 3, firstMs: 5_000 }), advance: true })
   */
  drain(topic: string, handler: TaskHandler<Database>, options?: DrainOptions<Database>): Promise<Drained>
}

/**
 * Opens an empty repository in memory, for one test. It shares nothing with others.
 *
 * @throws TaskError ARGUMENT_INVALID, RUNTIME_UNSUPPORTED
 * @example
 * await using tasks = await testTasks({ topics: ['invoices'], now: new Date('2026-01-01') })
 * await tasks.push('invoices', { identifier: 'inv-1', delayMs: 60_000 })
 * tasks.clock.advance(60_000)
 * const { handled } = await tasks.drain('invoices', handler)
 */
export async function testTasks(
  options: TestTasksOptions & { readonly driver: 'better-sqlite3' },
): Promise<TestTasks<BetterSqlite3Connection>>
export async function testTasks(
  options?: TestTasksOptions & { readonly driver?: 'node:sqlite' },
): Promise<TestTasks<DatabaseSync>>
export async function testTasks(
  options: TestTasksOptions = {},
): Promise<TestTasks<BetterSqlite3Connection> | TestTasks<DatabaseSync>> {
  checkNames(names, options)
  const { driver = 'node:sqlite' } = options
  if (driver === 'node:sqlite') return over<DatabaseSync>(await openNodeSqlite(':memory:'), fromNodeSqlite, options)
  if (driver === 'better-sqlite3')
    return over<BetterSqlite3Connection>(await openBetterSqlite3(':memory:'), fromBetterSqlite3, options)
  throw invalid('driver', driver, "must be 'node:sqlite' or 'better-sqlite3'")
}

async function over<Database extends { exec(text: string): unknown; prepare(text: string): unknown; close(): unknown }>(
  database: Database,
  adapter: SqlAdapter<NoInfer<Database>, 'sync'>,
  { topics = [], now = new Date() }: TestTasksOptions,
): Promise<TestTasks<Database>> {
  try {
    const clock = testClock(now)
    const transactions = sqliteTransactions(database)
    const owner: TestTasks<Database>['owner'] = (name) =>
      sqlTaskRepository({ dialect: sqlite(), adapter, clock: clock.now, ...(name === undefined ? {} : { owner: name }) })
    const repository = owner()
    await repository.migrate(transactions)
    await transactions((transaction) => {
      repository.register(transaction)
      for (const topic of topics) repository.initialize(transaction, topic)
    })
    return {
      repository,
      transactions,
      database,
      clock,
      owner,
      push: (topic, ...creations) => transactions((transaction) => repository.push(transaction, topic, creations)),
      drain: (topic, handler, given) => drain({ repository, transactions, clock }, topic, handler, given),
      [Symbol.asyncDispose]: async () => {
        try {
          database.close()
        } catch {
          // The test has already closed it.
        }
      },
    }
  } catch (error) {
    database.close()
    throw error
  }
}
