import { checkDuration, checkNames, verbOptions } from '@taskstream/task-api'
import type { RegisterOptions, TaskOwner } from '@taskstream/task-api'
import { checkSchema } from './migrate.ts'
import type { Dialect } from '../core/dialect.ts'
import { nothing, raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'
import { ownerUnknown } from '../core/verb-context.ts'
import type { Context } from '../core/verb-context.ts'
import { toNumber } from '../core/task-row.ts'

/** How many rows of dead owners are deleted at most by one call. */
// mutants: equivalent number, one more or less is as good
const mostForgotten = 1_000

export function* register({ dialect, owner, ownerName, now }: Context, options: RegisterOptions = {}): Verb<boolean> {
  checkNames(verbOptions.register, options)
  yield* checkSchema(dialect)
  if (options.exclusive) {
    // An owner without a row counts as dead, so its tasks can be expired at once.
    const others = yield sql`select o.owner from ${dialect.tables.owner} o where o.name = ${ownerName} and o.owner <> ${owner}`
    for (const other of others) yield sql`delete from ${dialect.tables.owner} where owner = ${String(other['owner'])}`
  }
  const row = { owner, name: ownerName, heartbeat: dialect.expr.now(now()) }
  return (yield* dialect.writes.touched(dialect.writes.insertIfAbsent(dialect.tables.owner, row, 'owner'))) > 0
}

export function* heartbeat({ dialect, owner, now, beat }: Context): Verb<boolean> {
  const renew = (which: Statement): Verb<number> =>
    dialect.writes.touched(
      sql`update ${dialect.tables.owner} set heartbeat = ${dialect.expr.now(now())} where owner = ${owner}${which}`,
    )
  const { seenMs } = beat
  if (seenMs !== undefined) {
    // An instant loses what is less than a millisecond on its way.
    if ((yield* renew(sql` and heartbeat >= ${dialect.expr.instant(sql`${seenMs - 1}`)}`)) > 0) return false
  }
  if ((yield* renew(nothing)) === 0) throw ownerUnknown(owner)
  // It is noticed once, and not by a beat that failed: the next expiry sees what is there now.
  beat.seenMs = undefined
  return seenMs !== undefined
}

export function* unregister({ dialect, owner }: Context): Verb<boolean> {
  return (yield* dialect.writes.touched(sql`delete from ${dialect.tables.owner} where owner = ${owner}`)) > 0
}

/** True for the name of another owner that has sent no heartbeat for so long, or is not registered any more. */
export function deadOwner({ dialect, owner, now }: Context, olderThanMs: number): (holder: Statement) => Statement {
  const deadline = dialect.expr.plusMs(dialect.expr.now(now()), sql`${-olderThanMs}`)
  return (holder) => sql`
    ${holder} <> ${owner}
    and not exists (select 1 from ${dialect.tables.owner} o where o.owner = ${holder} and o.heartbeat >= ${deadline})`
}

/** For how long a process that is gone is still shown: what ran a week ago explains what fails today. */
const keptNodeMs = 7 * 86_400_000

export function* purgeOwners({ dialect, owner, now }: Context, olderThanMs: number): Verb<number> {
  checkDuration('olderThanMs', olderThanMs)
  const before = (ms: number): Statement => dialect.expr.plusMs(dialect.expr.now(now()), sql`${-ms}`)
  yield* forget(dialect, dialect.tables.node, owner, sql`o.seen < ${before(Math.max(olderThanMs, keptNodeMs))}`)
  return yield* forget(dialect, dialect.tables.owner, owner, sql`o.heartbeat < ${before(olderThanMs)}`)
}

/**
 * Deletes rows of other owners by their keys, and passes over those that others have locked. Some databases wait for each row that a delete only reads: one process
 * that is stopped within its heartbeat would keep all others from this.
 */
function* forget(dialect: Dialect, table: Statement, owner: string, which: Statement): Verb<number> {
  const { expr, writes } = dialect
  const found = yield sql`
    select o.owner
      from ${table} o
     where o.owner <> ${owner} and ${which}
     ${expr.limit(sql`${mostForgotten}`)}`
  let count = 0
  for (const row of found) {
    const name = String(row['owner'])
    const [free] = yield sql`select o.owner from ${table} o where o.owner = ${name} and ${which} ${expr.alone}`
    if (free) count += yield* writes.touched(sql`delete from ${table} where owner = ${name}`)
  }
  return count
}

export function* owners({ dialect, owner, now }: Context, withinMs: number): Verb<TaskOwner[]> {
  checkDuration('withinMs', withinMs)
  const rows = yield sql`
    select owner, ${dialect.expr.epochMs(raw('heartbeat'))} as heartbeat
      from ${dialect.tables.owner}
     where owner <> ${owner}
       and heartbeat >= ${dialect.expr.plusMs(dialect.expr.now(now()), sql`${-withinMs}`)}
     order by owner`
  return rows.map((row) => ({ owner: String(row['owner']), heartbeat: new Date(toNumber(row['heartbeat'])) }))
}
