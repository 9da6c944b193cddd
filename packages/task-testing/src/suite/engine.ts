/** The engine that the suite is run against: it says what it can do, and opens databases. */
import type { Execution, TransactionSource } from '@taskstream/task-api'
import { raw, sqlTaskRepository } from '@taskstream/task-sql'
import type { Dialect, Row, SqlAdapter, SqlTaskRepository, SqlTaskRepositoryOptions, Statement } from '@taskstream/task-sql'
import { describe, test } from 'vitest'

/** A transaction of any driver. The suite never looks inside. */
// oxlint-disable-next-line typescript/no-explicit-any -- the one place where the suite is kept from knowing its driver
export type AnyTransaction = any

export type Tasks = SqlTaskRepository<AnyTransaction, Execution>

/** One connection. A test begins and ends transactions by hand, so that several of them can interleave. */
export interface Session {
  readonly transaction: AnyTransaction
  begin(): Promise<void>
  commit(): Promise<void>
  rollback(): Promise<void>
  /** Closes the connection, like a client that goes away. */
  close(): Promise<void>
}

export interface TasksOptions extends Pick<
  SqlTaskRepositoryOptions<AnyTransaction, Execution>,
  'owner' | 'release' | 'fingerprint' | 'speaksFor' | 'clock'
> {
  /** Replaces the adapter of the repository, for example by one that counts statements. */
  readonly adapt?: (adapter: SqlAdapter<AnyTransaction>) => SqlAdapter<AnyTransaction>
}

/** A database of its own with migrated, empty tables. Disposing of the subject removes the database. */
export interface Subject extends AsyncDisposable {
  /** Makes a repository with an owner of its own, which is not registered yet. */
  tasks(options?: TasksOptions): Tasks
  /** Runs `work` and commits, on a connection that the subject keeps. */
  readonly transactions: TransactionSource<AnyTransaction>
  /** Opens transactions as the user that owns the tables. */
  readonly owner: { readonly transactions: TransactionSource<AnyTransaction> }
  session(): Promise<Session>
  /** Runs a statement of the test's own, with every right. */
  execute(transaction: AnyTransaction, statement: Statement): Promise<readonly Row[]>
}

/** An engine that the suite is run against, and the facts that decide which tests it gets. */
export interface Engine<Opened extends Subject = Subject> {
  readonly name: string
  readonly family: 'sqlite' | 'postgres' | 'mysql' | 'oracle'
  /** How many connections can be open at a time: 1 for a database in memory. */
  readonly connections: number
  /** How many transactions can write at a time: 1 on SQLite. */
  readonly writers: number
  /** Whether plain topics keep outcomes, as `initialize` of this engine's repositories sees to it. Default false. */
  readonly outcomes?: boolean
  /** Whether verbs return values instead of promises. */
  readonly synchronous: boolean
  /** Whether every statement of a repository goes through {@link TasksOptions.adapt}. Default true. */
  readonly adapts?: boolean
  /** The type of a text column in a test's own tables. Default `text`. */
  readonly textType?: string
  open(): Promise<Opened>
}

/** The parts from which {@link subjectOf} makes a subject. */
export interface SubjectParts<Transaction> {
  readonly dialect: Dialect
  readonly adapter: SqlAdapter<Transaction>
  readonly transactions: TransactionSource<Transaction>
  session(): Promise<Session>
  /** Closes every connection and removes the database. */
  close(): Promise<void>
}

/**
 * Makes a subject from a dialect and an adapter, and creates the tables.
 *
 * @example
 * open: () => subjectOf({ dialect: sqlite(), adapter, transactions, session, close })
 */
export async function subjectOf<Transaction>(parts: SubjectParts<Transaction>): Promise<Subject> {
  const { dialect, transactions, session, close } = parts
  const adapter = parts.adapter as SqlAdapter<AnyTransaction>
  const subject: Subject = {
    tasks: ({ adapt = (same: SqlAdapter<AnyTransaction>) => same, ...options } = {}) =>
      sqlTaskRepository({ dialect, adapter: adapt(adapter), ...options } as never) as unknown as Tasks,
    transactions,
    owner: { transactions },
    session,
    execute: async (transaction, statement) => adapter.execute(transaction, statement, undefined),
    [Symbol.asyncDispose]: close,
  }
  await subject.tasks().migrate(transactions)
  return subject
}

/** A part of the suite. It registers its tests under the name of its file, for an engine that can be asked to pass them. */
export type Part = (engine: Engine, file: string) => void

export function part(name: string, tests: (engine: Engine) => void, isAsked: (engine: Engine) => boolean = () => true): Part {
  return (engine, file) => void (isAsked(engine) && describe(file, () => void describe(name, () => tests(engine))))
}

/**
 * Registers a test only for engines that can be asked to pass it. On other engines the test does not exist, so nothing is skipped.
 */
export function testWhere(asked: boolean): (name: string, body: () => unknown) => void {
  return asked ? (name, body) => test(name, async () => void (await body())) : () => {}
}

/** The type of a text column in a test's own table. */
export function textColumn({ textType = 'text' }: Engine): Statement {
  return raw(textType)
}
