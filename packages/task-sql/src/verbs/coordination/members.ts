/** The nodes of a group, in the table of heartbeats. */
import { TaskError } from '@taskstream/task-api'
import type { CoordinationTables, GroupMember } from '@taskstream/task-api'
import type { CoordinationStatements } from '../../core/coordination-statements.ts'
import type { Dialect } from '../../core/dialect.ts'
import { sql } from '../../core/statement.ts'
import { toNumber } from '../../core/task-row.ts'
import type { Verb } from '../../core/verb.ts'

type Parts = Pick<Dialect, 'coordination' | 'writes'>

/** @throws TaskError RUNTIME_UNSUPPORTED */
export function statementsOf({ coordination }: Pick<Dialect, 'coordination'>): CoordinationStatements {
  if (coordination) return coordination
  throw new TaskError(
    'RUNTIME_UNSUPPORTED',
    'Nodes cannot coordinate on this database: use PostgreSQL, MariaDB, MySQL or SQLite for it',
    { found: 'Oracle', needed: 'PostgreSQL, MariaDB, MySQL or SQLite' },
  )
}

export function* tables(dialect: Parts): Verb<CoordinationTables> {
  const rows = yield statementsOf(dialect).found
  const numbers = (column: string): number[] => rows.map((row) => toNumber(row[column]))
  return {
    found: rows.length === 2,
    isKeyed: numbers('is_keyed').every((isKeyed) => isKeyed === 1),
    idLength: Math.min(...numbers('id_length')),
    resolutionMs: Math.max(0, ...numbers('resolution')),
  }
}

export function* createTables(dialect: Parts): Verb<void> {
  for (const statement of statementsOf(dialect).create) yield statement
}

export function* beat(dialect: Parts, { groupId, taskId }: GroupMember): Verb<void> {
  const { healthCheck, now } = statementsOf(dialect)
  const { writes } = dialect
  const update = sql`update ${healthCheck} set last_heartbeat = ${now} where task_id = ${taskId} and group_id = ${groupId}`
  if ((yield* writes.touched(update)) > 0) return
  const row = { task_id: taskId, group_id: groupId, last_heartbeat: now }
  yield* writes.touched(writes.insertIfAbsent(healthCheck, row, 'task_id, group_id'))
}

export function* leave(dialect: Parts, { groupId, taskId }: GroupMember): Verb<void> {
  const { healthCheck } = statementsOf(dialect)
  yield sql`delete from ${healthCheck} where task_id = ${taskId} and group_id = ${groupId}`
}

export function* limitIdle(dialect: Parts, idleMs: number): Verb<void> {
  for (const statement of statementsOf(dialect).limitIdle(idleMs)) yield statement
}
