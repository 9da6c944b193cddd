/** A timer's row and what it stands for: the only place that knows the columns' types. */
import type { TaskHeaders } from '@taskstream/task-api'
import { join, raw, sql } from '@taskstream/task-sql'
import type { Dialect, Row, SqlValue, Statement } from '@taskstream/task-sql'
import { parseTimer } from '@taskstream/task-timers'
import { misfires, overlaps } from './definition.ts'
import type { Schedule } from './firing.ts'
import type { PeriodicTaskInfo } from './periodic-task.ts'

const texts = [
  'scope',
  'id',
  'name',
  'application',
  'note',
  'timer',
  'summary',
  'topic',
  'identifier',
  'input',
  'last_topic',
] as const
const numbers = [
  'status',
  'priority',
  'max_tries',
  'misfire',
  'late_ms',
  'overlap',
  'jitter_ms',
  'max_count',
  'fired',
  'skipped',
  'last_sequence',
] as const
const instants = ['starts', 'ends', 'occurrence', 'due', 'last_occurrence', 'created', 'changed'] as const

type Column = (typeof texts)[number] | (typeof numbers)[number] | (typeof instants)[number] | 'headers'

/** In the order of their numbers in the database. */
export const statuses = ['running', 'paused', 'ended'] as const
export type Status = (typeof statuses)[number]

/** Values of columns, instants as epoch milliseconds. */
export type Values = Readonly<Partial<Record<Column, SqlValue>>>

/** Columns of a whole row of `t`, and what time it is, as `toRow` reads them. */
export function columnsOf(dialect: Dialect, now: number | null): Statement {
  const instant = (name: string): Statement => sql`${dialect.expr.epochMs(raw(`t.${name}`))} as ${raw(name)}`
  return join(
    [
      ...[...texts, ...numbers].map((name) => raw(`t.${name}`)),
      sql`${dialect.expr.text(raw('t.headers'))} as headers`,
      ...instants.map(instant),
      sql`${dialect.expr.epochMs(dialect.expr.now(now))} as now`,
    ],
    ', ',
  )
}

/** Values as the columns take them, by their names. */
export function stored(dialect: Dialect, values: Values): Record<string, SqlValue | Statement> {
  const convert = ([name, value]: [string, SqlValue]): [string, SqlValue | Statement] => {
    if ((instants as readonly string[]).includes(name)) return [name, dialect.expr.instant(sql`${value}`)]
    return [name, name === 'headers' ? dialect.expr.json(sql`${value}`) : value]
  }
  return Object.fromEntries(Object.entries(values).map(convert))
}

/** Values as the assignments of an update. */
export function assigned(dialect: Dialect, values: Values): Statement {
  return join(
    Object.entries(stored(dialect, values)).map(([name, value]) => sql`${raw(name)} = ${value}`),
    ', ',
  )
}

/** A row as it was read: numbers are numbers, whatever the driver gives. */
export type TimerRow = Readonly<
  Record<(typeof texts)[number] | 'headers', string | null> &
    Record<(typeof numbers)[number] | (typeof instants)[number] | 'now', number | null>
>

export function toRow(row: Row): TimerRow {
  const text = (name: string): [string, string | null] => [name, row[name] === null ? null : String(row[name])]
  const number = (name: string): [string, number | null] => [name, row[name] === null ? null : Number(row[name])]
  return Object.fromEntries([...[...texts, 'headers'].map(text), ...[...numbers, ...instants, 'now'].map(number)]) as TimerRow
}

/** Columns that say when a timer fires. */
type ScheduleRow = Pick<
  TimerRow,
  'scope' | 'id' | 'timer' | 'misfire' | 'late_ms' | 'jitter_ms' | 'starts' | 'ends' | 'max_count' | 'fired'
>

/** @throws TaskError ARGUMENT_INVALID if its timer cannot be read: a later release has written it, or a hand */
export function toSchedule(row: ScheduleRow): Schedule {
  return {
    scope: row.scope!,
    id: row.id!,
    timer: parseTimer(row.timer!),
    misfire: misfires[row.misfire!]!,
    lateMs: row.late_ms ?? undefined,
    jitterMs: row.jitter_ms!,
    // mutants: equivalent nullish:row.starts, null is before every instant
    start: row.starts ?? undefined,
    end: row.ends ?? undefined,
    maxCount: row.max_count ?? undefined,
    fired: row.fired!,
  }
}

export function toInfo(row: TimerRow): PeriodicTaskInfo {
  const { last_topic: lastTopic, last_sequence: lastSequence, last_occurrence: lastOccurrence } = row
  return {
    scope: row.scope!,
    id: row.id!,
    timer: row.timer!,
    topic: row.topic!,
    identifier: row.identifier!,
    priority: row.priority!,
    misfire: misfires[row.misfire!]!,
    whileUnfinished: overlaps[row.overlap!]!,
    jitterMs: row.jitter_ms!,
    status: statuses[row.status!]!,
    fired: row.fired!,
    skipped: row.skipped!,
    created: new Date(row.created!),
    changed: new Date(row.changed!),
    ...(row.name !== null && { name: row.name }),
    ...(row.summary !== null && { summary: row.summary }),
    ...(row.input !== null && { input: row.input }),
    ...(row.headers !== null && { headers: JSON.parse(row.headers) as TaskHeaders }),
    ...(row.max_tries !== null && { maxTries: row.max_tries }),
    ...(row.late_ms !== null && { lateMs: row.late_ms }),
    ...(row.starts !== null && { start: new Date(row.starts) }),
    ...(row.ends !== null && { end: new Date(row.ends) }),
    ...(row.max_count !== null && { maxCount: row.max_count }),
    ...(row.application !== null && { application: row.application }),
    ...(row.note !== null && { note: row.note }),
    ...(row.occurrence !== null && { next: new Date(row.occurrence) }),
    ...(row.due !== null && { due: new Date(row.due) }),
    ...(lastTopic !== null && {
      last: {
        topic: lastTopic,
        sequence: lastSequence!,
        ...(lastOccurrence !== null && { occurrence: new Date(lastOccurrence) }),
      },
    }),
  }
}
