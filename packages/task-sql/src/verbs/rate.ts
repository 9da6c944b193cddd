/**
 * How many tasks of a topic are polled in a time, over all processes: a bucket of tokens, kept as one instant. It is the instant at which the bucket would be
 * full again, in microseconds, so that nothing has to fill it.
 */
import { checkInteger, checkTopic } from '@taskstream/task-api'
import type { TokenGrant } from '@taskstream/task-api'
import { raw, sql } from '../core/statement.ts'
import { toNumber } from '../core/task-row.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { lockLimit } from './lock-limit.ts'

const isRate = raw("kind = 'rate'")

/** Tokens that are worth less are rounded up, as they could be had for nothing otherwise. */
const leastCutUs = 1_000

export function* takeTokens(context: Context, topic: string, wanted: number): Verb<TokenGrant> {
  checkTopic(topic)
  checkInteger('wanted', wanted, 0, 1_000_000)
  const { dialect, now } = context
  const rate = yield* lockLimit(context, topic, isRate)
  if (!rate || wanted === 0) return { taken: wanted }
  // mutants: equivalent sql-logic `topic = ${topic} and ${isRate}`, the time is the same in every row
  const [row] = yield sql`
    select ${dialect.expr.epochMs(dialect.expr.now(now()))} as now
      from ${dialect.tables.limit}
     where topic = ${topic} and ${isRate}`
  const nowUs = toNumber(row!['now']) * 1_000
  const perUs = rate.perMs * 1_000
  // After the clock was set back, the bucket is no emptier than empty.
  const fullAt = Math.min(Math.max(rate.used, nowUs), nowUs + perUs)
  const tokenUs = perUs / rate.amount
  const taken = Math.min(wanted, Math.floor((nowUs + perUs - fullAt) / tokenUs))
  // What is cut off is a thousandth of a token at most. Rounded up, the last of several single tokens would be a moment late.
  const used = (tokenUs < leastCutUs ? Math.ceil : Math.floor)(fullAt + taken * tokenUs)
  // mutants: equivalent boundary condition:true, where none are taken, the same instant is written, or one that has passed
  if (taken > 0 || used < rate.used)
    yield sql`update ${dialect.tables.limit} set used = ${used} where topic = ${topic} and ${isRate}`
  if (taken === wanted) return { taken }
  // mutants: equivalent number:0, a token that is not there yet is at least a part of a millisecond away
  return { taken, nextMs: Math.max(1, Math.ceil((used + tokenUs - perUs - nowUs) / 1_000)) }
}

export function* giveTokens({ dialect }: Context, topic: string, count: number): Verb<void> {
  checkTopic(topic)
  checkInteger('count', count, 0, 1_000_000)
  // mutants: equivalent condition:false, no tokens are no microseconds
  if (count === 0) return
  const { limit } = dialect.tables
  const [rate] = yield sql`select amount, per_ms from ${limit} where topic = ${topic} and ${isRate}`
  if (!rate) return
  const us = Math.floor((count * toNumber(rate['per_ms']) * 1_000) / toNumber(rate['amount']))
  yield sql`update ${limit} set used = used - ${us} where topic = ${topic} and ${isRate}`
}
