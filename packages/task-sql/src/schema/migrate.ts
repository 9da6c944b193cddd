import { TaskError } from '@taskstream/task-api'
import type { Dialect } from '../dialect.ts'
import { sql } from '../statement.ts'
import type { Verb } from '../transaction.ts'

/** The versions a migration began and ended at; equal when there was nothing to do. */
export interface Migration {
  readonly from: number
  readonly to: number
}

/** Brings the schema up to what this release knows, in one transaction; safe from several processes at once. */
export function* migrate(dialect: Dialect): Verb<Migration> {
  const { migration } = dialect.tables
  for (const statement of dialect.lockForMigration) yield statement
  yield sql`create table if not exists ${migration} (version integer primary key, name text not null, applied text not null)`
  const from = yield* readVersion(dialect)
  const to = knownVersion(dialect)
  if (from > to) throw newer(from, to)
  for (const { version, name, statements } of dialect.migrations) {
    if (version <= from) continue
    for (const statement of statements) yield statement
    yield sql`insert into ${migration} (version, name, applied) values (${version}, ${name}, cast(current_timestamp as text))`
  }
  return { from, to }
}

/** @throws TaskError SCHEMA_MISSING, SCHEMA_OLDER or SCHEMA_NEWER unless the schema is the one this release works with */
export function* checkSchema(dialect: Dialect): Verb<void> {
  const found = yield* readVersion(dialect)
  const known = knownVersion(dialect)
  if (found > known) throw newer(found, known)
  if (found < known) {
    throw new TaskError('SCHEMA_OLDER', `The schema is at version ${found}, this release needs ${known}: run migrate`, {
      found,
      known,
    })
  }
}

function* readVersion(dialect: Dialect): Verb<number> {
  const [row] = yield sql`select max(version) as version from ${dialect.tables.migration}`
  return Number(row?.['version'] ?? 0)
}

function knownVersion(dialect: Dialect): number {
  return dialect.migrations.at(-1)?.version ?? 0
}

function newer(found: number, known: number): TaskError {
  return new TaskError(
    'SCHEMA_NEWER',
    `The schema is at version ${found}, this release knows ${known}: upgrade @taskstream/task-sql`,
    {
      found,
      known,
    },
  )
}
