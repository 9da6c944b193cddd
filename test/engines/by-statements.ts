/** Repositories that poll topics under a condition by statements from outside, as engines without functions do, and releases before there were any. */
import { postgres } from '@taskstream/task-sql/pg'
import type { TasksOptions } from '@taskstream/task-testing/suite'

/** Options for `subject.tasks` on PostgreSQL. */
export function byStatements(): TasksOptions {
  const dialect = postgres({ partitioned: process.env['TASKSTREAM_SUBJECT'] === 'postgres-partitioned' })
  const { singular: _, ...claims } = dialect.claims
  return { dialect: { ...dialect, claims } } as TasksOptions
}
