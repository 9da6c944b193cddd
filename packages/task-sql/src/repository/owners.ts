import { checkDuration } from '@taskstream/task-api'
import type { RegisterOptions, TaskOwner } from '@taskstream/task-api'
import { checkSchema } from '../schema/migrate.ts'
import { raw, sql } from '../statement.ts'
import type { Verb } from '../transaction.ts'
import { ownerUnknown } from './context.ts'
import type { Context } from './context.ts'
import { toNumber } from './row.ts'

export function* register({ dialect, owner, ownerName, now }: Context, options: RegisterOptions = {}): Verb<boolean> {
  yield* checkSchema(dialect)
  if (options.exclusive) {
    // An owner without a row counts as dead: what it holds can be expired at once.
    yield sql`delete from ${dialect.tables.owner} where name = ${ownerName} and owner <> ${owner}`
  }
  const added = yield sql`
    insert into ${dialect.tables.owner} (owner, name, heartbeat)
    values (${owner}, ${ownerName}, ${dialect.now(now())})
        on conflict (owner) do nothing
    returning owner`
  return added.length > 0
}

export function* heartbeat({ dialect, owner, now }: Context): Verb<void> {
  const beaten =
    yield sql`update ${dialect.tables.owner} set heartbeat = ${dialect.now(now())} where owner = ${owner} returning owner`
  if (beaten.length === 0) throw ownerUnknown(owner)
}

export function* unregister({ dialect, owner }: Context): Verb<boolean> {
  const removed = yield sql`delete from ${dialect.tables.owner} where owner = ${owner} returning owner`
  return removed.length > 0
}

export function* purgeOwners({ dialect, owner, now }: Context, olderThanMs: number): Verb<number> {
  checkDuration('olderThanMs', olderThanMs)
  const deadline = dialect.plusMs(dialect.now(now()), sql`cast(${-olderThanMs} as bigint)`)
  const purged =
    yield sql`delete from ${dialect.tables.owner} where owner <> ${owner} and heartbeat < ${deadline} returning owner`
  return purged.length
}

export function* owners({ dialect, owner, now }: Context, withinMs: number): Verb<TaskOwner[]> {
  checkDuration('withinMs', withinMs)
  const rows = yield sql`
    select owner, ${dialect.epochMs(raw('heartbeat'))} as heartbeat
      from ${dialect.tables.owner}
     where owner <> ${owner}
       and heartbeat >= ${dialect.plusMs(dialect.now(now()), sql`cast(${-withinMs} as bigint)`)}
     order by owner`
  return rows.map((row) => ({ owner: String(row['owner']), heartbeat: new Date(toNumber(row['heartbeat'])) }))
}
