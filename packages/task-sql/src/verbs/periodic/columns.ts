/** Conversion between timers and their rows. Only this file knows the names and types of the columns. */
import { misfires, overlaps, timerStatuses } from '@taskstream/task-api'
import type { StoredTimer } from '@taskstream/task-api'
import type { Dialect } from '../../core/dialect.ts'
import { join, raw, sql } from '../../core/statement.ts'
import type { SqlValue, Statement } from '../../core/statement.ts'
import type { Row } from '../../core/verb.ts'

/** How a column stores a value. A list of words means that a word's position is stored: positions never change. */
type Kind = 'text' | 'number' | 'json' | 'instant' | readonly string[]

type Kept = Omit<StoredTimer, 'now'>

/** The columns, in the order in which they are selected. */
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

/** The columns of a timer's row `t`, as `toTimer` reads them. `toTimer` also needs the column `now`. */
export function timerColumns({ expr }: Dialect): Statement {
  const selected = Object.values(columns).map(([name, kind]) => {
    const column = raw(`t.${name}`)
    if (kind === 'instant') return sql`${expr.epochMs(column)} as ${raw(name)}`
    // mutants: equivalent condition:true, `read` takes every value as text too
    return kind === 'json' ? sql`${expr.text(column)} as ${raw(name)}` : column
  })
  return join(selected, ', ')
}

/** The values of columns, by the names of the columns. */
export function stored({ expr }: Dialect, values: Partial<Kept>): Record<string, SqlValue | Statement> {
  const row: Record<string, SqlValue | Statement> = {}
  for (const [property, value] of Object.entries(values)) {
    const [name, kind] = columns[property as keyof Kept]
    if (kind === 'instant') row[name] = expr.instant(sql`${value}`)
    else if (kind === 'json') row[name] = expr.json(sql`${value}`)
    else row[name] = typeof kind === 'string' ? value : kind.indexOf(String(value))
  }
  return row
}

/** The assignments of an update. */
export function assigned(dialect: Dialect, values: Partial<Kept>): Statement {
  return join(
    Object.entries(stored(dialect, values)).map(([name, value]) => sql`${raw(name)} = ${value}`),
    ', ',
  )
}

/** The timer of a row that was read. Numbers are converted, as some drivers give them as text. */
export function toTimer(row: Row): StoredTimer {
  const timer: Record<string, unknown> = { now: Number(row['now']) }
  for (const [property, [name, kind]] of Object.entries(columns)) timer[property] = read(row[name], kind)
  return timer as unknown as StoredTimer
}

function read(value: unknown, kind: Kind): unknown {
  if (value === null) return null
  if (kind === 'text' || kind === 'json') return String(value)
  return kind === 'number' || kind === 'instant' ? Number(value) : kind[Number(value)]
}
