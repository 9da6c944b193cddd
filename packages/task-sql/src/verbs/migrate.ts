import { TaskError } from '@taskstream/task-api'
import type { Dialect, MigrationStep } from '../core/dialect.ts'
import { raw, sql } from '../core/statement.ts'
import type { SqlValue, Statement } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'

/** The versions a migration began and ended at; equal when there was nothing to do. */
export interface Migration {
  readonly from: number
  readonly to: number
}

/** What a migration would do. */
export interface MigrationPlan extends Migration {
  /** SQL to be read, or run by hand instead; empty when there is nothing to do. */
  readonly text: string
}

/** How the tables and this release go together. */
export interface SchemaStatus {
  /** The version of the tables; 0 where there are none. */
  readonly found: number
  /** The version that this release makes. */
  readonly known: number
  /** Whether this release works on the tables. */
  readonly works: boolean
}

/**
 * Brings the schema up to what this release knows, in one transaction; safe from several processes at once. A later schema that this
 * release works on is left as it is.
 */
export function* migrate(dialect: Dialect): Verb<Migration> {
  // Where nothing is to be done no lock is taken, and no right to create anything is needed.
  const before = yield* schemaStatus(dialect)
  if (before.found >= before.known) return unchanged(before)
  for (const statement of dialect.schema.begin) yield statement
  const status = yield* schemaStatus(dialect)
  const { found, known } = status
  if (found > known) return unchanged(status)
  for (const statement of stepsFrom(dialect, found)) yield statement
  return { from: found, to: known }
}

function unchanged({ found, known, works }: SchemaStatus): Migration {
  if (!works) throw newer(found, known)
  return { from: found, to: found }
}

/** The statements of `migrate`, as text. */
export function* plan(dialect: Dialect): Verb<MigrationPlan> {
  const { found, known, works } = yield* schemaStatus(dialect)
  if (found > known && !works) throw newer(found, known)
  if (found >= known) return { from: found, to: found, text: '' }
  const statements = [...dialect.schema.begin, ...stepsFrom(dialect, found)]
  return { from: found, to: known, text: dialect.schema.script(statements.map(toText)) }
}

export function* schemaStatus(dialect: Dialect): Verb<SchemaStatus> {
  const known = dialect.schema.migrations.at(-1)?.version ?? 0
  const there = yield* dialect.schema.find()
  if (there && dialect.session.checkSeen) yield* dialect.session.checkSeen()
  // Every column: which there are depends on the version.
  const rows = !there ? [] : yield sql`select * from ${dialect.tables.migration}`
  const found = Math.max(0, ...rows.map((row) => Number(row['version'])))
  const worksFrom = Math.max(0, ...rows.map((row) => Number(row['works_from'] ?? row['version'])))
  return { found, known, works: found >= known && worksFrom <= known }
}

/** @throws TaskError SCHEMA_MISSING, SCHEMA_OLDER or SCHEMA_NEWER unless this release works on the schema that is there; PERMISSION_DENIED where rows are hidden */
export function* checkSchema(dialect: Dialect): Verb<void> {
  const { found, known, works } = yield* schemaStatus(dialect)
  if (found === 0)
    throw new TaskError(
      'SCHEMA_MISSING',
      'The tables of taskstream are not in this database, or this user may not see them: run migrate',
      {
        known,
      },
    )
  if (found < known) {
    throw new TaskError('SCHEMA_OLDER', `The schema is at version ${found}, this release needs ${known}: run migrate`, {
      found,
      known,
    })
  }
  if (!works) throw newer(found, known)
}

function stepsFrom(dialect: Dialect, from: number): Statement[] {
  return dialect.schema.migrations
    .filter(({ version }) => version > from)
    .flatMap((step) => [...step.statements, note(dialect, step)])
}

/** The first step had no word yet on what works with it: with that step, only what knows it. */
function note({ tables, expr, writes }: Dialect, { version, name, worksFrom }: MigrationStep): Statement {
  const first = { version, name, applied: expr.text(raw('current_timestamp')) }
  return writes.insertIfAbsent(tables.migration, version === 1 ? first : { ...first, works_from: worksFrom }, 'version')
}

/** For reading and running by hand. The values are this file's and the dialect's own. */
function toText({ texts, values }: Statement): string {
  const literal = (value: SqlValue): string => (typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value))
  return texts
    .map((part, index) => (index === 0 ? part : literal(values[index - 1] ?? null) + part))
    .join('')
    .trim()
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
