/** What a test is given: one engine, empty, with as many real connections as it asks for. */
import type { Execution, TransactionSource } from '@taskstream/task-api'
import { sqlTaskRepository } from '@taskstream/task-sql'
import type { Dialect, SqlAdapter } from '@taskstream/task-sql'
import type * as suite from '@taskstream/task-testing/suite'
import type { AnyTransaction, Session, Tasks, TasksOptions } from '@taskstream/task-testing/suite'

/** Who migrates. */
interface Owner {
  readonly transactions: TransactionSource<AnyTransaction>
  /** How another process opens the database as this user. */
  readonly at: string
}

export interface Subject extends suite.Subject {
  readonly engine: 'postgres' | 'sqlite' | 'mariadb' | 'oracle'
  /** How another process opens the same database. */
  readonly location: { readonly subject: string; readonly at: string }
  /** How many transactions can write at the same time: 1 on SQLite. */
  readonly writers: number
  /** How many connections can be open: 1 in memory. */
  readonly connections: number
  /** Of the worker, unless another user is named. */
  session(as?: Owner): Promise<Session>
  /** The owner of the tables: somebody else where the suite works with the least rights. */
  readonly owner: Owner
}

/** A database without tables. Where rights are the least, they are to be granted when there are tables. */
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
