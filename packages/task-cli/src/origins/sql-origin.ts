/** Queues whose jobs are rows of PostgreSQL. Where they are in the database of the tasks, jobs are deleted in the transaction that pushes their tasks. */
import { nearest } from '@taskstream/task-api'
import type { PushedTask } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import type { Row, Statement, Verb } from '@taskstream/task-sql'
import type { NamedDatabase } from '../core/database.ts'
import { CommandError } from '../core/exit-codes.ts'
import type { Origin, LibraryName, OriginRequest, Push, Survey } from './origin.ts'
import { keyFields, toCreation } from './waiting-job.ts'
import type { WaitingJob } from './waiting-job.ts'

/** What one library does differently. */
export interface SqlOrigin {
  readonly name: LibraryName
  readonly schema: string
  /** A table, and the columns of it that are used. */
  readonly columns: readonly [table: string, ...columns: string[]]
  /** The oldest release with these columns. */
  readonly since: string
  /** Rows with the `name` of each queue. */
  queues(at: (table: string) => Statement): Statement
  /** One row of counts. */
  survey(at: (table: string) => Statement, queue: string, field: Statement): Statement
  toSurvey(counts: Readonly<Record<string, number>>, key: string): Survey
  /** Deletes the jobs that come next, and returns them in the order in which the library would take them. */
  take(at: (table: string) => Statement, queue: string, size: number): Statement
  /** The payload as `json`, of which the survey reads a key. */
  readonly payload: string
  /** What is read of each of its keys, for the survey. */
  readonly fields: Readonly<Record<string, string>>
  toJob(row: Row, queue: string): WaitingJob
}

interface Place {
  /** The database of the jobs. */
  readonly source: NamedDatabase
  /** Whether that is the database of the tasks, by the same address. */
  readonly isShared: boolean
}

/**
 * Opens a queue in the database of the source.
 *
 * @throws CommandError missing, if there is no such queue; refused, if the tables are not there or of an older release
 */
export async function openSqlOrigin(
  origin: SqlOrigin,
  { source, isShared }: Place,
  request: OriginRequest,
  push: Push,
): Promise<Omit<Origin, keyof AsyncDisposable>> {
  const { queue, space = origin.schema, key = keyFields[origin.name][0] } = request
  if (!/^[A-Za-z_]\w{0,62}$/.test(space))
    throw new CommandError('usage', `--from-schema ${space}: it must be letters, digits and underscores`)
  const at = (table: string): Statement => raw(`"${space}"."${table}"`)
  const ask = source.tasks.verb(execute) as (transaction: unknown, statement: Statement) => Promise<readonly Row[]>
  const read = (statement: Statement): Promise<readonly Row[]> => source.reading<readonly Row[]>((each) => ask(each, statement))
  await checkTables(origin, space, read, source.place)
  await checkQueue(origin, queue, await read(origin.queues(at)), source.place)

  const moved = async (transaction: unknown, size: number): Promise<readonly PushedTask[]> => {
    const rows = await ask(transaction, origin.take(at, queue, size))
    if (rows.length === 0) return []
    const creations = rows.map((row) => toCreation(origin.toJob(row, queue), key, request))
    return isShared ? push(creations, transaction) : push(creations)
  }
  return {
    place: source.place,
    survey: async () => {
      const [row = {}] = await read(origin.survey(at, queue, fieldOf(origin, key)))
      return origin.toSurvey(Object.fromEntries(Object.entries(row).map(([name, count]) => [name, Number(count)])), key)
    },
    move: (size) => source.transactions((transaction) => moved(transaction, size)),
  }
}

function* execute(_: unknown, statement: Statement): Verb<readonly Row[]> {
  return yield statement
}

/** The field that becomes the identifier, as text, and null where a job has none. */
function fieldOf({ fields, payload }: SqlOrigin, key: string): Statement {
  const field = fields[key]
  if (field !== undefined) return raw(field)
  const name = key.slice('input.'.length)
  // Where a JSON text has the character NUL, which a text of PostgreSQL cannot have, none of its fields can be asked for. The survey may count one too few.
  return sql`
    case when ${raw(payload)}::text not like '%\\\\u0000%'
      then case when json_typeof(${raw(payload)} -> ${name}::text) in ('string', 'number') then nullif(${raw(payload)} ->> ${name}::text, '') end end`
}

async function checkTables(
  { name, columns: [table, ...columns], since }: SqlOrigin,
  space: string,
  read: (statement: Statement) => Promise<readonly Row[]>,
  place: string,
): Promise<void> {
  const rows = await read(
    sql`select column_name::text as name from information_schema.columns where table_schema = ${space} and table_name = ${table}`,
  )
  if (rows.length === 0)
    throw new CommandError('refused', `no tables of ${name} in the schema "${space}" of ${place}: give --from, or --from-schema`)
  const there = new Set(rows.map((row) => row['name']))
  const missing = columns.find((column) => !there.has(column))
  if (missing !== undefined)
    throw new CommandError(
      'refused',
      `the tables of ${name} in ${place} are older than release ${since}, as ${table} has no column ${missing}: start that release of ${name} once`,
    )
}

async function checkQueue({ name }: SqlOrigin, queue: string, rows: readonly Row[], place: string): Promise<void> {
  const names = rows.map((row) => String(row['name']))
  if (names.includes(queue)) return
  const meant = nearest(queue, names)
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`
  throw new CommandError(
    'missing',
    `no queue "${queue}" of ${name} in ${place}${hint} (it has: ${names.slice(0, 20).join(', ') || 'none'})`,
  )
}
