/** Submitting what is due: one timer, in one transaction. */
import { sql } from '@taskstream/task-sql'
import type { Verb, VerbContext } from '@taskstream/task-sql'
import { fireTimer } from './fire-timer.ts'
import type { FiredOccurrence, FiredTimer, TimerKey } from './fire-timer.ts'
import { lock } from './look.ts'

/** What looking for a due timer came to. */
export type Fired =
  | FiredOccurrence
  /** Nothing is due; something is in so many milliseconds, if anything ever. */
  | { readonly outcome: 'idle'; readonly afterMs?: number }
  /** Others are at all that is due. */
  | { readonly outcome: 'busy' }

/** The same, of several occurrences of one timer. */
export type FiredSeveral = FiredTimer | Exclude<Fired, FiredOccurrence>

/** Others may be at the first of them. */
const candidates = 16

/**
 * Fires the first timer that is due. The row stays locked until the transaction ends: whoever fires it moves it on and pushes its task, both or
 * neither.
 *
 * @param without leaves these alone
 * @param most so many occurrences of it, if its tasks need not wait for each other
 * @param at is told which timer is at work, for whoever catches what it throws
 */
export function* fireNext(
  context: VerbContext,
  without: ReadonlySet<string>,
  at: (timer: TimerKey) => void,
  most: number,
): Verb<FiredSeveral> {
  const { dialect } = context
  const now = dialect.expr.now(context.now())
  const due = yield sql`
    select t.scope, t.id, ${dialect.expr.epochMs(sql`t.due`)} as due, ${dialect.expr.epochMs(now)} as now
      from ${dialect.tables.periodic} t
     where t.due is not null
     order by t.due
     ${dialect.expr.limit(sql`${candidates + without.size}`)}`
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
      return yield* fireTimer(context, row, most)
    }
  }
  return { outcome: 'busy' }
}

/** One occurrence of the first timer that is due. */
export function* fireOne(context: VerbContext): Verb<Fired> {
  // mutants: equivalent number, one is taken at least
  const fired = yield* fireNext(context, nobody, () => {}, 1)
  return 'outcome' in fired ? fired : fired.occurrences[0]!
}

const nobody: ReadonlySet<string> = new Set()

/** The same text for the same timer, and for no other. */
export function keyOf({ scope, id }: TimerKey): string {
  return JSON.stringify([scope, id])
}
