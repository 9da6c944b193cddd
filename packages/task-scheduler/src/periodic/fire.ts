/** Submitting what is due: one timer, in one transaction. */
import type { PushedTask } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import type { Verb, VerbContext } from '@taskstream/task-sql'
import { assigned, toSchedule } from './columns.ts'
import type { TimerRow } from './columns.ts'
import { overlaps } from './definition.ts'
import { waiting } from './edit.ts'
import { fire, passOver } from './firing.ts'
import type { Firing } from './firing.ts'
import { lock } from './look.ts'
import { submit, unfinished } from './submit.ts'

/** Which timer. */
export interface TimerKey {
  readonly scope: string
  readonly id: string
}

/** What looking for a due timer came to. */
export type Fired =
  | {
      readonly outcome: 'submitted' | 'unfinished' | 'late'
      readonly timer: TimerKey
      /** The occurrence that was due. */
      readonly occurrence: Date
      readonly task?: PushedTask
      /** It will never fire again, because of this. */
      readonly ended?: string
    }
  /** Nothing is due; something is in so many milliseconds, if anything ever. */
  | { readonly outcome: 'idle'; readonly afterMs?: number }
  /** Others are at all that is due. */
  | { readonly outcome: 'busy' }

/** Others may be at the first of them. */
const candidates = 16

/**
 * Fires the first timer that is due. The row stays locked until the transaction ends: whoever fires it moves it on and pushes its task, both or
 * neither.
 *
 * @param without leaves these alone
 * @param at is told which timer is at work, for whoever catches what it throws
 */
export function* fireNext(context: VerbContext, without: ReadonlySet<string>, at: (timer: TimerKey) => void): Verb<Fired> {
  const { dialect } = context
  const now = dialect.now(context.now())
  const due = yield sql`
    select t.scope, t.id, ${dialect.epochMs(sql`t.due`)} as due, ${dialect.epochMs(now)} as now
      from ${dialect.tables.periodic} t
     where t.due is not null
     order by t.due
     ${dialect.limit(sql`${candidates + without.size}`)}`
  const wanted = due
    .map((row) => ({ scope: String(row['scope']), id: String(row['id']), afterMs: Number(row['due']) - Number(row['now']) }))
    .filter((timer) => !without.has(keyOf(timer)))
  const ready = wanted.filter(({ afterMs }) => afterMs <= 0)
  if (ready.length === 0) return { outcome: 'idle', ...(wanted[0] && { afterMs: wanted[0].afterMs }) }
  for (const { scope, id } of ready) {
    // What another one has fired meanwhile is not due any more.
    const [row] = yield* lock(context, sql`t.scope = ${scope} and t.id = ${id} and t.due is not null and t.due <= ${now}`, 'skip')
    if (row) {
      at({ scope, id })
      return yield* fireOne(context, row)
    }
  }
  return { outcome: 'busy' }
}

/** The same text for the same timer, and for no other. */
export function keyOf({ scope, id }: TimerKey): string {
  return JSON.stringify([scope, id])
}

function* fireOne(context: VerbContext, row: TimerRow): Verb<Fired> {
  const schedule = toSchedule(row)
  const occurrence = row.occurrence!
  const timer = { scope: row.scope!, id: row.id! }
  const event = { timer, occurrence: new Date(occurrence) }
  if (overlaps[row.overlap!] === 'skip' && (yield* unfinished(context, row)) !== undefined) {
    const next = passOver(schedule, occurrence, row.now!)
    yield* moveOn(context, row, next, { skipped: row.skipped! + 1 })
    return { ...event, outcome: 'unfinished', ...ending(next) }
  }
  const firing = fire(schedule, occurrence, row.now!)
  if (firing.submit === undefined) {
    yield* moveOn(context, row, firing, {})
    return { ...event, outcome: 'late', ...ending(firing) }
  }
  const task = yield* submit(context, row, firing.submit)
  yield* moveOn(context, row, firing, {
    fired: row.fired! + 1,
    last_occurrence: firing.submit,
    last_topic: task.topic,
    last_sequence: task.sequence,
  })
  return { timer, occurrence: new Date(firing.submit), outcome: 'submitted', task, ...ending(firing) }
}

function ending({ ended }: Firing): { readonly ended?: string } {
  return ended === undefined ? {} : { ended }
}

function* moveOn({ dialect }: VerbContext, row: TimerRow, firing: Firing, values: Parameters<typeof assigned>[1]): Verb<void> {
  yield sql`
    update ${dialect.tables.periodic}
       set ${assigned(dialect, { ...waiting('running', firing), ...values })}
     where scope = ${row.scope} and id = ${row.id}`
}
