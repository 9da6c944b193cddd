/** A test's subject: one engine with an empty database, and as many real connections as the test opens. */
import type { Execution, TransactionSource } from '@taskstream/task-api'
import { sqlTaskRepository } from '@taskstream/task-sql'
import type { Dialect, SqlAdapter } from '@taskstream/task-sql'
import type * as suite from '@taskstream/task-testing/suite'
import type { AnyTransaction, Session, Tasks, TasksOptions } from '@taskstream/task-testing/suite'

/** The user that owns the tables and migrates them. */
interface Owner {
  readonly transactions: TransactionSource<AnyTransaction>
  /** The URL or file with which another process opens the database as this user. */
  readonly at: string
}

export interface Subject extends suite.Subject {
  readonly engine: 'postgres' | 'sqlite' | 'mariadb' | 'oracle'
  /** The engine's name and the URL or file with which another process opens the same database. */
  readonly location: { readonly subject: string; readonly at: string }
  /** How many transactions can write at the same time: 1 on SQLite. */
  readonly writers: number
  /** How many connections can be open: 1 in memory. */
  readonly connections: number
  /** Opens a session of the worker, or of another user. */
  session(as?: Owner): Promise<Session>
  /** The owner of the tables, which is another user where the suite works with the least rights. */
  readonly owner: Owner
}

/** A database without tables. Where the suite works with the least rights, `grant` gives them once there are tables. */
export type Unmigrated = Subject & { readonly grant?: () => Promise<void> }

/** Makes repositories of one dialect and adapter. */
export type Repositories = typeof repositories

export function repositories<E extends Execution>(
  dialect: Dialect,
  adapter: SqlAdapter<AnyTransaction, E>,
): (options?: TasksOptions) => Tasks {
  return ({ adapt = (same: SqlAdapter<AnyTransaction>) => same, ...options }: TasksOptions = {}) =>
    sqlTaskRepository({ dialect, adapter: adapt(adapter), ...options }) as unknown as Tasks
}
