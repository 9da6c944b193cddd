/** A timer's row and what it stands for: the only place that knows the columns' names and types. */
import { misfires, overlaps, timerStatuses } from '@taskstream/task-api'
import type { StoredTimer } from '@taskstream/task-api'
import type { Dialect } from '../../core/dialect.ts'
import { join, raw, sql } from '../../core/statement.ts'
import type { SqlValue, Statement } from '../../core/statement.ts'
import type { Row } from '../../core/verb.ts'

/** How a column stores a value. Words are stored as their numbers in the list, which never change. */
type Kind = 'text' | 'number' | 'json' | 'instant' | readonly string[]

type Kept = Omit<StoredTimer, 'now'>

/** In the order in which they are selected. */
const columns: Readonly<Record<keyof Kept, readonly [name: string, kind: Kind]>> = {
  scope: ['scope', 'text'],
  id: ['id', 'text'],
  name: ['name', 'text'],
  application: ['application', 'text'],
  note: ['note', 'text'],
  timer: ['timer', 'text'],
  summary: ['summary', 'text'],
  topic: ['topic', 'text'],
  identifier: ['identifier', 'text'],
  input: ['input', 'text'],
  lastTopic: ['last_topic', 'text'],
  status: ['status', timerStatuses],
  priority: ['priority', 'number'],
  maxTries: ['max_tries', 'number'],
  misfire: ['misfire', misfires],
  lateMs: ['late_ms', 'number'],
  whileUnfinished: ['overlap', overlaps],
  jitterMs: ['jitter_ms', 'number'],
  maxCount: ['max_count', 'number'],
  fired: ['fired', 'number'],
  skipped: ['skipped', 'number'],
  lastSequence: ['last_sequence', 'number'],
  headers: ['headers', 'json'],
  start: ['starts', 'instant'],
  end: ['ends', 'instant'],
  occurrence: ['occurrence', 'instant'],
  due: ['due', 'instant'],
  lastOccurrence: ['last_occurrence', 'instant'],
  created: ['created', 'instant'],
  changed: ['changed', 'instant'],
}

/** Columns of a whole row of `t`, and what time it is, as `toTimer` reads them. */
export function columnsOf({ expr }: Dialect, now: number | null): Statement {
  const selected = Object.values(columns).map(([name, kind]) => {
    const column = raw(`t.${name}`)
    if (kind === 'instant') return sql`${expr.epochMs(column)} as ${raw(name)}`
    return kind === 'json' ? sql`${expr.text(column)} as ${raw(name)}` : column
  })
  return join([...selected, sql`${expr.epochMs(expr.now(now))} as now`], ', ')
}

/** Values as the columns take them, by their names. */
export function stored(dialect: Dialect, values: Partial<Kept>): Record<string, SqlValue | Statement> {
  const convert = ([property, value]: [string, SqlValue]): [string, SqlValue | Statement] => {
    const [name, kind] = columns[property as keyof Kept]
    if (kind === 'instant') return [name, dialect.expr.instant(sql`${value}`)]
    if (kind === 'json') return [name, dialect.expr.json(sql`${value}`)]
    return [name, typeof kind === 'string' ? value : kind.indexOf(String(value))]
  }
  return Object.fromEntries(Object.entries(values).map(convert))
}

/** Values as the assignments of an update. */
export function assigned(dialect: Dialect, values: Partial<Kept>): Statement {
  return join(
    Object.entries(stored(dialect, values)).map(([name, value]) => sql`${raw(name)} = ${value}`),
    ', ',
  )
}

/** A row as it was read: numbers are numbers, whatever the driver gives. */
export function toTimer(row: Row): StoredTimer {
  const read = (name: string, kind: Kind): unknown => {
    if (row[name] === null) return null
    if (kind === 'text' || kind === 'json') return String(row[name])
    const number = Number(row[name])
    return typeof kind === 'string' ? number : kind[number]
  }
  const values = Object.entries(columns).map(([property, [name, kind]]) => [property, read(name, kind)])
  return Object.fromEntries([...values, ['now', Number(row['now'])]]) as StoredTimer
}
