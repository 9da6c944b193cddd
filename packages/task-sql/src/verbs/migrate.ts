import { TaskError } from '@taskstream/task-api'
import type { Dialect, MigrationStep } from '../core/dialect.ts'
import { raw, sql } from '../core/statement.ts'
import type { SqlValue, Statement } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'

/** The versions of the tables before and after a migration. They are equal if there was nothing to do. */
export interface Migration {
  readonly from: number
  readonly to: number
}

/** The steps that a migration would take. */
export interface MigrationPlan extends Migration {
  /** SQL to be read, or to be run by hand instead of `migrate`. It is empty if there is nothing to do. */
  readonly text: string
}

/** Whether this release works on the tables that are there. */
export interface SchemaStatus {
  /** The version of the tables; 0 where there are none. */
  readonly found: number
  /** The version that this release makes. */
  readonly known: number
  /** Whether this release works on the tables. */
  readonly works: boolean
}

/**
 * Brings the tables to the version of this release, in one transaction. Several processes may migrate at once. Tables of a later
 * version on which this release works are left as they are.
 */
export function* migrate(dialect: Dialect): Verb<Migration> {
  // If there is nothing to do, the migration takes no lock and needs no right to create tables.
  const before = yield* schemaStatus(dialect)
  if (before.found >= before.known) return unchanged(before)
  for (const statement of dialect.schema.begin) yield statement
  const status = yield* schemaStatus(dialect)
  const { found, known } = status
  // mutants: equivalent boundary, from its own version there are no steps
  if (found > known) return unchanged(status)
  for (const statement of stepsFrom(dialect, found)) yield statement
  return { from: found, to: known }
}

function unchanged({ found, known, works }: SchemaStatus): Migration {
  if (!works) throw newer(found, known)
  return { from: found, to: found }
}

/** The statements that `migrate` would run, as text. */
export function* plan(dialect: Dialect): Verb<MigrationPlan> {
  const { found, known, works } = yield* schemaStatus(dialect)
  // mutants: equivalent boundary, this release works on tables of its own version
  if (found > known && !works) throw newer(found, known)
  if (found >= known) return { from: found, to: found, text: '' }
  const statements = [...dialect.schema.begin, ...stepsFrom(dialect, found)]
  return { from: found, to: known, text: dialect.schema.script(statements.map(toText)) }
}

export function* schemaStatus(dialect: Dialect): Verb<SchemaStatus> {
  // mutants: equivalent optional nullish number, a dialect has a step at least
  const known = dialect.schema.migrations.at(-1)?.version ?? 0
  const there = yield* dialect.schema.find()
  if (there && dialect.session.checkSeen) yield* dialect.session.checkSeen()
  // The table's columns depend on its version, so all of them are selected.
  const rows = !there ? [] : yield sql`select * from ${dialect.tables.migration}`
  const found = Math.max(0, ...rows.map((row) => Number(row['version'])))
  // mutants: equivalent number, the first version is 1
  const worksFrom = Math.max(0, ...rows.map((row) => Number(row['works_from'] ?? row['version'])))
  return { found, known, works: found >= known && worksFrom <= known }
}

/** @throws TaskError SCHEMA_MISSING, SCHEMA_OLDER or SCHEMA_NEWER unless this release works on the tables; PERMISSION_DENIED if rows are hidden */
export function* checkSchema(dialect: Dialect): Verb<void> {
  const fault = schemaFault(yield* schemaStatus(dialect))
  if (fault) throw fault
}

/** Why this release does not work on the tables, if it does not. */
export function schemaFault({ found, known, works }: SchemaStatus): TaskError | undefined {
  if (found === 0)
    return new TaskError(
      'SCHEMA_MISSING',
      'The tables of taskstream are not in this database, or this user may not see them: run migrate',
      {
        known,
      },
    )
  if (found < known)
    return new TaskError('SCHEMA_OLDER', `The schema is at version ${found}, this release needs ${known}: run migrate`, {
      found,
      known,
    })
  return works ? undefined : newer(found, known)
}

function stepsFrom(dialect: Dialect, from: number): Statement[] {
  return dialect.schema.migrations
    .filter(({ version }) => version > from)
    .flatMap((step) => [...step.statements, note(dialect, step)])
}

/** Records a step. At the first step the table has no column `works_from` yet: only code that knows this step works on such tables. */
function note({ tables, expr, writes }: Dialect, { version, name, worksFrom }: MigrationStep): Statement {
  const first = { version, name, applied: expr.text(raw('current_timestamp')) }
  return writes.insertIfAbsent(tables.migration, version === 1 ? first : { ...first, works_from: worksFrom }, 'version')
}

/** A statement with its values written into the text. The values come from this file and the dialect, never from a caller. */
function toText({ texts, values }: Statement): string {
  // mutants: equivalent string `value.replaceAll("'", "''")`, no value of a migration has a quote
  const literal = (value: SqlValue): string => (typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value))
  // mutants: equivalent method, spaces around a statement mean nothing
  return texts
    .map((part, index) => (index === 0 ? part : literal(values[index - 1]!) + part))
    .join('')
    .trim()
}

function newer(found: number, known: number): TaskError {
  return new TaskError(
    'SCHEMA_NEWER',
    `The schema is at version ${found}, this release knows ${known}: upgrade taskstream, or after a deploy that was taken back, deploy the newer release again`,
    {
      found,
      known,
    },
  )
}
