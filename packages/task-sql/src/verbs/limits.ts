/** The limits of topics: a row for each kind, in the table of limits. */
import { checkLimits, checkNames, checkTopic, invalid, verbOptions } from '@taskstream/task-api'
import type { LimitOptions, TopicLimits } from '@taskstream/task-api'
import { nothing, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { toNumber } from '../core/task-row.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { checkKnown } from './topics.ts'

/** What a row limits. The names are stored, for whoever looks into the table. */
const limitKinds = ['total', 'rate', 'entries', 'entries-dropping', 'dead-letter'] as const
type LimitKind = (typeof limitKinds)[number]

/** The kind of a row that limits nothing. It says that limits were stored once, and so whether none are left because they were taken away. */
const storedOnce = 'stored'

interface StoredLimit {
  readonly amount: number | null
  readonly per_ms: number | null
  readonly target: string | null
}

export function* limit(context: Context, topic: string, limits: TopicLimits, options: LimitOptions = {}): Verb<TopicLimits> {
  checkNames(verbOptions.limit, options)
  checkTopic(topic)
  checkLimits(topic, limits)
  yield* checkKnown(context, topic)
  if (limits.deadLetter !== undefined) yield* checkKnown(context, limits.deadLetter)
  const stored = yield* rowsOf(context, topic)
  const rows = toRows(limits)
  if (options.keep && (stored.length > 0 || rows.size === 0)) return toLimits(stored)
  if (limits.deadLetter !== undefined) yield* checkNoReturn(context, topic, limits.deadLetter)
  const { limit: table } = context.dialect.tables
  const { insertIfAbsent, touched } = context.dialect.writes
  const has = (kind: string): boolean => stored.some((row) => row['kind'] === kind)
  const once = insertIfAbsent(table, { topic, kind: storedOnce, used: 0 }, 'topic, kind')
  const isFirst = !has(storedOnce) && (yield* touched(once)) > 0
  // Another process that starts at the same time has stored its own just now.
  if (options.keep && !isFirst) return toLimits(yield* rowsOf(context, topic, context.dialect.expr.latest))
  for (const kind of limitKinds) {
    const row = rows.get(kind)
    if (!row) {
      if (has(kind)) yield sql`delete from ${table} where topic = ${topic} and kind = ${kind}`
      continue
    }
    const { amount, per_ms: perMs, target } = row
    const change = sql`update ${table} set amount = ${amount}, per_ms = ${perMs}, target = ${target} where topic = ${topic} and kind = ${kind}`
    // What is there is updated at once: an insert that finds it would lock it for reading first, and two of these may lock each other out.
    if (has(kind) && (yield* touched(change)) > 0) continue
    const added = yield* touched(insertIfAbsent(table, { topic, kind, amount, per_ms: perMs, used: 0, target }, 'topic, kind'))
    if (added === 0) yield change
  }
  return toLimits(yield* rowsOf(context, topic))
}

/** Refuses dead letters that lead back: a task whose copies fail too would go round for ever, a new task each time. */
function* checkNoReturn(context: Context, topic: string, deadLetter: string): Verb<void> {
  const way = [topic]
  for (let next: string | undefined = deadLetter; next !== undefined; next = yield* deadLetterOf(context, next)) {
    if (next === topic) {
      const told = [...way, next].map((each) => JSON.stringify(each)).join(' → ')
      throw invalid('deadLetter', deadLetter, `must not lead back to where it comes from (${told})`)
    }
    // Others may go in a circle since an older release.
    if (way.includes(next)) return
    way.push(next)
  }
}

export function* limits({ dialect }: Context): Verb<ReadonlyMap<string, TopicLimits>> {
  const rows = yield sql`
    select topic, kind, amount, per_ms, target from ${dialect.tables.limit} where kind <> ${storedOnce} order by topic, kind`
  return new Map([...Map.groupBy(rows, ({ topic }) => String(topic))].map(([topic, own]) => [topic, toLimits(own)]))
}

/** The topic to which copies of failed tasks go. It is asked for only when a task has failed. */
export function* deadLetterOf({ dialect }: Context, topic: string): Verb<string | undefined> {
  const [row] = yield sql`select target from ${dialect.tables.limit} where topic = ${topic} and kind = 'dead-letter'`
  return row && String(row['target'])
}

function* rowsOf({ dialect }: Context, topic: string, latest: Statement = nothing): Verb<readonly Row[]> {
  return yield sql`select t.kind, t.amount, t.per_ms, t.target from ${dialect.tables.limit} t where t.topic = ${topic} ${latest}`
}

function toRows({ total, rate, maxEntries, deadLetter }: TopicLimits): ReadonlyMap<LimitKind, StoredLimit> {
  const none = { amount: null, per_ms: null, target: null }
  const rows = new Map<LimitKind, StoredLimit>()
  if (total !== undefined) rows.set('total', { ...none, amount: total })
  if (rate) rows.set('rate', { ...none, amount: rate.count, per_ms: rate.perMs })
  if (maxEntries)
    rows.set(maxEntries.whenFull === 'drop-oldest' ? 'entries-dropping' : 'entries', { ...none, amount: maxEntries.count })
  if (deadLetter !== undefined) rows.set('dead-letter', { ...none, target: deadLetter })
  return rows
}

function toLimits(rows: readonly Row[]): TopicLimits {
  const of = (kind: LimitKind): Row | undefined => rows.find((row) => row['kind'] === kind)
  const [total, rate, entries, dropping, dead] = limitKinds.map(of)
  return {
    ...(total && { total: toNumber(total['amount']) }),
    ...(rate && { rate: { count: toNumber(rate['amount']), perMs: toNumber(rate['per_ms']) } }),
    ...(entries && { maxEntries: { count: toNumber(entries['amount']), whenFull: 'reject' } }),
    ...(dropping && { maxEntries: { count: toNumber(dropping['amount']), whenFull: 'drop-oldest' } }),
    ...(dead && { deadLetter: String(dead['target']) }),
  }
}
