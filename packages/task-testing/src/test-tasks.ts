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
  /** Topics to make known. Others can be initialised later. */
  readonly topics?: readonly string[]
  /** What the clock shows at first. Default: the time of the call. It stands still in any case. */
  readonly now?: Date
  /** `'node:sqlite'` (default) comes with Node.js; `'better-sqlite3'` must be installed. */
  readonly driver?: 'node:sqlite' | 'better-sqlite3'
}

const names = optionNames<TestTasksOptions>('testTasks', { topics: true, now: true, driver: true })

/** A repository for one test: a real one, on SQLite in memory, with a clock that the test moves. */
export interface TestTasks<Database> extends AsyncDisposable {
  /** Its owner is registered, its verbs are synchronous and take `database` as their transaction. */
  readonly repository: SqlTaskRepository<Database, 'sync'>
  /** For a `TaskNode`, or anything that opens transactions by itself: one at a time, on `database`. */
  readonly transactions: TransactionSource<Database>
  /** The connection, for tables of the test's own. */
  readonly database: Database
  /** What the database takes for the time. */
  readonly clock: TestClock

  /** Another repository on the same database and clock, with an owner of its own that is not registered yet. */
  owner(name?: string): SqlTaskRepository<Database, 'sync'>

  /**
   * Pushes in a transaction of its own.
   *
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   */
  push(topic: string, ...creations: readonly (string | TaskCreation)[]): Promise<PushedTask[]>

  /**
   * Handles all that is ready in a topic, as a node would with this handler and retry policy, batch by batch: what is due is released,
   * and what the handler pushes to the topic is handled as well. No timers, and no time passes but by `advance`.
   *
   * @throws TaskError ARGUMENT_INVALID, DRAIN_ENDLESS, TOPIC_UNKNOWN; what a node would only report: a handler that throws after it completed its batch
   * @example
   * const { handled } = await tasks.drain('invoices', handler, { retry: exponential({ tries: 3, firstMs: 5_000 }), advance: true })
   */
  drain(topic: string, handler: TaskHandler<Database>, options?: DrainOptions<Database>): Promise<Drained>
}

/**
 * Opens an empty repository in memory, for one test. Nothing is shared with another.
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
          // The test closed it already.
        }
      },
    }
  } catch (error) {
    database.close()
    throw error
  }
}
