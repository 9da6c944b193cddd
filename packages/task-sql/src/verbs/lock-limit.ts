import { sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { toNumber } from '../core/task-row.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'

export interface LockedLimit {
  readonly kind: string
  readonly amount: number
  readonly perMs: number
  readonly used: number
}

/**
 * Locks a limit of a topic until the transaction ends, so that those who keep it follow each other. The statements after it then see what the others have
 * written.
 *
 * @param which a condition on its kind
 * @returns undefined if the topic has no such limit
 */
export function* lockLimit(context: Context, topic: string, which: Statement): Verb<LockedLimit | undefined> {
  const { dialect } = context
  const { limit } = dialect.tables
  const locked = yield* dialect.writes.touched(sql`update ${limit} set used = used where topic = ${topic} and ${which}`)
  if (locked === 0) return undefined
  return yield* readLocked(context, topic, which)
}

/** Reads a limit that this transaction has locked. The caller's snapshot may be older than what others have written to it. */
export function* readLocked({ dialect }: Context, topic: string, which: Statement): Verb<LockedLimit> {
  const { expr, tables } = dialect
  const [row] = yield sql`
    select t.kind, t.amount, t.per_ms, t.used from ${tables.limit} t where t.topic = ${topic} and ${which} ${expr.latest}`
  return {
    kind: String(row!['kind']),
    amount: toNumber(row!['amount']),
    perMs: Number(row!['per_ms']),
    used: toNumber(row!['used']),
  }
}
