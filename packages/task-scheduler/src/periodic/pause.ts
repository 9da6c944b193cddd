/** Pausing and resuming timers: what would have fired meanwhile is not made up for. */
import { sql } from '@taskstream/task-sql'
import type { Verb, VerbContext } from '@taskstream/task-sql'
import { assigned, statuses, toSchedule } from './columns.ts'
import type { TimerRow } from './columns.ts'
import { firstOf } from './firing.ts'
import { find, lock } from './look.ts'
import { notifySchedulers } from './notify.ts'
import { waiting } from './waiting.ts'

/** @returns whether it was running @throws TaskError TIMER_UNKNOWN */
export function* pause(context: VerbContext, scope: string, id: string): Verb<boolean> {
  const row = yield* find(context, scope, id)
  if (statuses[row.status!] !== 'running') return false
  yield* store(context, row, 'paused')
  return true
}

/** @returns whether it was paused @throws TaskError TIMER_UNKNOWN */
export function* resume(context: VerbContext, scope: string, id: string): Verb<boolean> {
  const row = yield* find(context, scope, id)
  if (statuses[row.status!] !== 'paused') return false
  yield* store(context, row, 'running')
  yield* notifySchedulers(context)
  return true
}

/** @returns how many were running */
export function pauseAll(context: VerbContext, scope: string): Verb<number> {
  return storeAll(context, scope, 'running', 'paused')
}

/** @returns how many were paused */
export function resumeAll(context: VerbContext, scope: string): Verb<number> {
  return storeAll(context, scope, 'paused', 'running')
}

function* storeAll(context: VerbContext, scope: string, from: 'running' | 'paused', to: 'running' | 'paused'): Verb<number> {
  // mutants: equivalent string, what is not to be skipped is waited for
  const rows = yield* lock(context, sql`t.scope = ${scope} and t.status = ${statuses.indexOf(from)}`, 'wait')
  for (const row of rows) yield* store(context, row, to)
  if (to === 'running' && rows.length > 0) yield* notifySchedulers(context)
  return rows.length
}

function* store({ dialect }: VerbContext, row: TimerRow, status: 'running' | 'paused'): Verb<void> {
  const wait = waiting(status, status === 'paused' ? {} : firstOf(toSchedule(row), row.now!))
  yield sql`
    update ${dialect.tables.periodic}
       set ${assigned(dialect, { ...wait, changed: row.now })}
     where scope = ${row.scope} and id = ${row.id}`
}
