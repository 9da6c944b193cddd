import { TaskError, taskReasons, taskStates } from '@taskstream/task-api'
import type { HeldTask, TaskHeaders, TaskInfo, TaskState } from '@taskstream/task-api'
import type { Dialect } from '../dialect.ts'
import { raw, sql } from '../statement.ts'
import type { Statement } from '../statement.ts'
import type { Row } from '../transaction.ts'
import { toLease } from './lease.ts'

/** Columns of a claimed row. Bare names: SQLite knows no alias in a returning clause. */
const taskColumns = raw(
  'sequence, identifier, attempt, tries, max_tries, priority, reference, external_id, cast(headers as text) as headers, input',
)

/** The same, with whether the deadline has passed. */
export function heldColumns(dialect: Dialect, now: number | null): Statement {
  return sql`${taskColumns}, ${dialect.epochMs(raw('deadline'))} as deadline,
    case when deadline is not null and deadline <= ${dialect.now(now)} then 1 end as late`
}

export function isLate(row: Row): boolean {
  return row['late'] !== null
}

/** Columns of a whole row. */
export function infoColumns(dialect: Dialect): Statement {
  const instant = (name: string): Statement => sql`${dialect.epochMs(raw(name))} as ${raw(name)}`
  return sql`${taskColumns}, state, descent, reason, owner, output,
    ${instant('created')}, ${instant('started')}, ${instant('completed')}, ${instant('due')}, ${instant('deadline')}`
}

/** A claimed row; one that is locked, as it will be when it is written. */
export function toHeldTask(topic: string, row: Row, how: 'active' | 'staged' | 'locked'): HeldTask {
  const taken = how === 'locked' ? 1 : 0
  const attempt = toNumber(row['attempt']) + taken
  return {
    topic,
    sequence: toNumber(row['sequence']),
    identifier: String(row['identifier']),
    lease: toLease(attempt, how),
    attempt,
    tries: toNumber(row['tries']) + taken,
    priority: toNumber(row['priority']),
    ...optionalFields(row),
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
    ...optionalFields(row),
    ...present('reason', row['reason'], (value) => taskReasons[toNumber(value)] ?? 'terminated'),
    ...present('owner', row['owner'], String),
    ...present('output', row['output'], String),
    ...present('started', row['started'], toInstant),
    ...present('completed', row['completed'], toInstant),
    ...present('due', row['due'], toInstant),
  }
}

/** 64-bit integers come as strings, bigints or numbers, depending on the driver and its settings. */
export function toNumber(value: unknown): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number)) {
    throw new TaskError('NUMBER_UNSAFE', `The database holds ${String(value)}, which is beyond 2^53 and cannot be read exactly`, {
      value,
    })
  }
  return number
}

export function toState(value: unknown): TaskState {
  return taskStates[toNumber(value)] ?? 'redundant'
}

type OptionalFields = Pick<HeldTask, 'maxTries' | 'reference' | 'externalId' | 'headers' | 'input' | 'deadline'>

/** Most tasks have no more than an input: absent fields stay absent, and nothing is allocated for them. */
function optionalFields(row: Row): OptionalFields {
  const fields: { -readonly [Key in keyof OptionalFields]: OptionalFields[Key] } = {}
  if (row['input'] !== null) fields.input = String(row['input'])
  if (row['max_tries'] !== null) fields.maxTries = toNumber(row['max_tries'])
  if (row['reference'] !== null) fields.reference = String(row['reference'])
  if (row['external_id'] !== null) fields.externalId = String(row['external_id'])
  if (row['deadline'] !== null) fields.deadline = toInstant(row['deadline'])
  if (row['headers'] !== null) fields.headers = JSON.parse(String(row['headers'])) as TaskHeaders
  return fields
}

function present<Key extends string, Value>(
  key: Key,
  value: unknown,
  convert: (value: unknown) => Value,
): { [K in Key]?: Value } {
  return value === null || value === undefined ? {} : ({ [key]: convert(value) } as { [K in Key]?: Value })
}

function toInstant(value: unknown): Date {
  return new Date(toNumber(value))
}
