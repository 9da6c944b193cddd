import { TaskError, taskReasons, taskStates } from '@taskstream/task-api'
import type { HeldTask, Task, TaskHeaders, TaskInfo, TaskReason, TaskState } from '@taskstream/task-api'
import type { Dialect } from './dialect.ts'
import { nothing, raw, sql } from './statement.ts'
import { states } from './states.ts'
import type { Statement } from './statement.ts'
import type { Row } from './verb.ts'
import { blockedUntilMs } from './blocked.ts'
import { toLease } from './lease.ts'
import type { Way } from './lease.ts'

/** The columns of a claimed row, as `heldColumns` names them. */
export const heldNames: Statement = raw('sequence, identifier, attempt, tries, input, extras')

/** As many columns as a claimed row has, all null. */
export const noHeld: Statement = raw('null, null, null, null, null, null')

/**
 * Columns of a claimed row. They have no alias, because SQLite knows none in a returning clause. Columns that most tasks do not use
 * are packed into one, `extras`, which is null for most rows: each further column costs time in the driver.
 */
export function heldColumns(dialect: Dialect, now: number | null): Statement {
  return sql`sequence, identifier, attempt, tries, input,
    case when priority <> 0 or max_tries is not null or reference is not null or external_id is not null
           or headers is not null or deadline is not null
         then ${dialect.expr
           .jsonArray(sql`priority, max_tries, reference, external_id, ${dialect.expr.text(raw('headers'))}, ${dialect.expr.epochMs(raw('deadline'))},
           case when deadline <= ${dialect.expr.now(now)} then 1 end`)} end as extras`
}

/** The columns that `extras` packs, by their names. */
function extrasOf({ extras }: Row): Row {
  if (extras === null) return none
  const [priority, max_tries, reference, external_id, headers, deadline] = JSON.parse(String(extras)) as unknown[]
  return { priority, max_tries, reference, external_id, headers, deadline }
}

const none: Row = { priority: 0, max_tries: null, reference: null, external_id: null, headers: null, deadline: null }

/** Whether a claimed row's deadline has passed. The last of the extras says so. */
export function isLate({ extras }: Row): boolean {
  return extras !== null && String(extras).endsWith('1]')
}

/** Columns of a whole row. */
export function infoColumns(dialect: Dialect): Statement {
  const instant = (name: string): Statement => sql`${dialect.expr.epochMs(raw(name))} as ${raw(name)}`
  const { attempt, tries, state, owner, started } = holding(dialect)
  return sql`sequence, identifier, max_tries, priority, reference, external_id, ${dialect.expr.text(raw('headers'))} as headers, input,
    descent, reason, output, ${attempt} as attempt, ${tries} as tries, ${state} as state, ${owner} as owner, ${dialect.expr.epochMs(started)} as started,
    ${instant('created')}, ${instant('completed')}, ${instant('due')}, ${instant('deadline')}`
}

/** What a row `t` says of who holds it, or held it last. What a range holds stands in the range. */
export function holding({
  ranges,
}: Pick<Dialect, 'ranges'>): Readonly<Record<'attempt' | 'tries' | 'state' | 'owner' | 'started', Statement>> {
  const own = (column: string): Statement => raw(`t.${column}`)
  if (!ranges)
    return { attempt: own('attempt'), tries: own('tries'), state: own('state'), owner: own('owner'), started: own('started') }
  const { isHeld } = ranges
  return {
    attempt: sql`t.attempt + case when ${isHeld} then 1 else 0 end`,
    tries: sql`t.tries + case when ${isHeld} then 1 else 0 end`,
    state: sql`case when ${isHeld} then ${states.active} else t.state end`,
    owner: sql`coalesce(t.owner, ${ranges.owner})`,
    started: sql`coalesce(t.started, ${ranges.leased})`,
  }
}

/** Assignments that write into a row `t` who holds it by a range, before a verb takes it away. */
export function takeHeld(dialect: Pick<Dialect, 'ranges'>): Statement {
  if (!dialect.ranges) return nothing
  const { attempt, tries, owner, started } = holding(dialect)
  return sql`attempt = ${attempt}, tries = ${tries}, owner = ${owner}, started = ${started}, `
}

/** The task of a claimed row. A row that is only locked, or held by a range, still has its old attempt and tries, so one is added to both. */
export function toHeldTask(topic: string, row: Row, way: Way): HeldTask {
  const taken = way === 'locked' || way === 'ranged' ? 1 : 0
  const extras = extrasOf(row)
  const attempt = toNumber(row['attempt']) + taken
  return {
    topic,
    sequence: toNumber(row['sequence']),
    identifier: String(row['identifier']),
    lease: toLease(attempt, way),
    attempt,
    tries: toNumber(row['tries']) + taken,
    priority: toNumber(extras['priority']),
    ...input(row),
    ...(extras !== none && optionalFields(extras)),
  }
}

export function toTaskInfo(topic: string, row: Row): TaskInfo {
  return {
    topic,
    sequence: toNumber(row['sequence']),
    identifier: String(row['identifier']),
    state: toState(row['state']),
    descent: toState(row['descent']),
    attempt: toNumber(row['attempt']),
    tries: toNumber(row['tries']),
    priority: toNumber(row['priority']),
    created: new Date(toNumber(row['created'])),
    ...input(row),
    ...optionalFields(row),
    ...present('reason', row['reason'], toReason),
    ...present('owner', row['owner'], String),
    ...present('output', row['output'], String),
    ...present('started', row['started'], toInstant),
    ...present('completed', row['completed'], toInstant),
    ...waiting(row),
  }
}

/** A blocked task has no due time that anybody gave it. */
function waiting({ due }: Row): Pick<TaskInfo, 'due' | 'blocked'> {
  if (due === null) return {}
  return toNumber(due) === blockedUntilMs ? { blocked: true } : { due: toInstant(due) }
}

/** Converts a 64-bit integer. Drivers give strings, bigints or numbers, depending on their settings. @throws TaskError NUMBER_UNSAFE */
export function toNumber(value: unknown): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number)) {
    throw new TaskError('NUMBER_UNSAFE', `The database holds ${String(value)}, which is beyond 2^53 and cannot be read exactly`, {
      value,
    })
  }
  return number
}

/** The task of a row of which `sequence` and `identifier` are given. */
export function toTask(topic: string, row: Row): Task {
  return { topic, sequence: toNumber(row['sequence']), identifier: String(row['identifier']) }
}

/** The column `sequence` of rows, ascending. */
export function sequencesOf(rows: readonly Row[]): number[] {
  return rows.map(({ sequence }) => toNumber(sequence)).toSorted((left, right) => left - right)
}

export function toState(value: unknown): TaskState {
  return taskStates[toNumber(value)] ?? 'redundant'
}

export function toReason(value: unknown): TaskReason {
  return taskReasons[toNumber(value)] ?? 'terminated'
}

type OptionalFields = Pick<HeldTask, 'maxTries' | 'reference' | 'externalId' | 'headers' | 'deadline'>

function input(row: Row): Pick<HeldTask, 'input'> {
  return row['input'] === null ? {} : { input: String(row['input']) }
}

/** The optional fields that the row has. Most tasks have none, and get no object full of undefined fields. */
function optionalFields(row: Row): OptionalFields {
  const fields: { -readonly [Key in keyof OptionalFields]: OptionalFields[Key] } = {}
  if (row['max_tries'] !== null) fields.maxTries = toNumber(row['max_tries'])
  if (row['reference'] !== null) fields.reference = String(row['reference'])
  if (row['external_id'] !== null) fields.externalId = String(row['external_id'])
  if (row['deadline'] !== null) fields.deadline = toInstant(row['deadline'])
  if (row['headers'] !== null) fields.headers = JSON.parse(String(row['headers'])) as TaskHeaders
  return fields
}

export function present<Key extends string, Value>(
  key: Key,
  value: unknown,
  convert: (value: unknown) => Value,
): { [K in Key]?: Value } {
  return value === null || value === undefined ? {} : ({ [key]: convert(value) } as { [K in Key]?: Value })
}

export function toInstant(value: unknown): Date {
  return new Date(toNumber(value))
}
