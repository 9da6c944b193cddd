/** Why a ready task is not being handled: what keeps its topic, its nodes or its place from letting it begin. */
import { diagnosisCodes } from '@taskstream/task-api'
import type { Diagnosis, DiagnosisCode, NodeInfo, NodeTopic, TaskInfo } from '@taskstream/task-api'
import { raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { toNumber } from '../core/task-row.ts'
import type { Dialect } from '../core/dialect.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { isInReadyList } from './claim-ordered.ts'
import { stages, states } from '../core/states.ts'
import { readNodes, usualLeaseMs } from './nodes.ts'
import { freedMs, waitsFor } from './why-waits.ts'
import type { Place } from './why-found.ts'

/** What was found, with what it tells. The first one is the answer. */
export type Found = readonly [code: DiagnosisCode, facts: Partial<Diagnosis>]

/** How many ready tasks before this one are counted at most. */
const mostAhead = 10_000

/** A node that was not heard of for so long tells nothing about now. */
const reportedMs = 600_000

/** The next task that is not taken for so long, while a node looks for one, has no explanation. */
const unexplainedMs = 30_000

export function* whyReady(context: Context, place: Place, task: TaskInfo): Verb<readonly Found[]> {
  const processing = yield* whyTopic(context, place)
  const found: Found[] = [...processing.found]
  if (task.deadline && task.deadline.getTime() <= place.nowMs) found.push(['past-deadline', {}])
  const by = yield* waitsFor(context, place, task)
  if (by.length > 0) found.push(['out-of-turn', { by }])
  const limited = yield* limitOf(context, place)
  if (limited) found.push(['limited', limited])
  // What others do with the task explains why it is not taken, unless something else keeps it from being taken at all.
  const locked = found.every(([code]) => code === 'no-slot') ? yield* lockedBy(context, task) : undefined
  if (locked) found.push(['locked', locked])
  if (by.length === 0) {
    const ahead = yield* aheadOf(context, place, task)
    if (ahead > 0) found.push(['behind', { ahead }])
  }
  if (found.length === 0) {
    const since = yield* waitedSince(context, place, task, processing.here)
    found.push(since ? ['unexplained', { since }] : ['next', {}])
  }
  const rankOf = ([code]: Found): number => diagnosisCodes.indexOf(code)
  return withFacts(found, processing.facts).toSorted((left, right) => rankOf(left) - rankOf(right))
}

// oxlint-disable-next-line require-yield -- not every database is asked
function* lockedBy({ dialect }: Context, { topic, sequence }: TaskInfo): ReturnType<NonNullable<Dialect['locks']['lockedBy']>> {
  return dialect.locks.lockedBy ? yield* dialect.locks.lockedBy(topic, sequence) : undefined
}

/**
 * Since when a task has been the next one, while the polls of a node found nothing. Undefined if that is not long, or if nobody knows since when the task
 * has been ready: the row does not say when a task was revived.
 */
function* waitedSince(context: Context, place: Place, task: TaskInfo, here: readonly Here[]): Verb<Date | undefined> {
  if (task.attempt > 0 || task.descent !== 'ready') return undefined
  const since = (readyMs: number): Date | undefined => {
    for (const { node, own } of here) {
      if (own.emptyMs === undefined || !node.reported) continue
      const reportedAtMs = node.reported.getTime()
      const sinceMs = Math.max(readyMs, reportedAtMs - own.emptyMs)
      if (reportedAtMs - sinceMs > Math.max(2 * (own.idleMs ?? 0), unexplainedMs)) return new Date(sinceMs)
    }
    return undefined
  }
  const createdMs = task.created.getTime()
  if (!since(createdMs)) return undefined
  return since(Math.max(createdMs, yield* freedMs(context, place, task)))
}

interface Processing {
  readonly found: readonly Found[]
  /** What the nodes of the topic tell, whether it keeps tasks waiting or not. */
  readonly facts: Partial<Diagnosis>
  /** The living nodes of the topic. */
  readonly here: readonly Here[]
}

/** What keeps a whole topic from being processed. */
export function* whyTopic(context: Context, { topic, paused }: Place): Verb<Processing> {
  const found: Found[] = paused ? [['paused', { paused }]] : []
  const all = yield* readNodes(context, reportedMs)
  const living = all.filter(({ life, report }) => (life === 'living' || life === 'silent') && report?.kind !== 'scheduler')
  const here = living.flatMap((node) => {
    const own = node.report?.topics.find((each) => each.topic === topic)
    return own ? [{ node, own }] : []
  })
  const troubles = here.flatMap(({ node, own }) => {
    const trouble = own.error ?? node.report?.error
    return trouble ? [{ ...trouble, owner: node.owner }] : []
  })
  const pace = here.some(({ own }) => own.ended !== undefined)
    ? here.reduce((sum, { own }) => sum + (own.ended ?? 0), 0)
    : undefined
  const facts: Partial<Diagnosis> = { nodes: { count: here.length, troubles }, ...(pace !== undefined && { pace }) }
  const code = codeOfNodes(living, here, troubles.length)
  // A node tells nothing of a topic that is paused, so that nobody is known to process it.
  if (code && !(paused && here.length === 0)) found.push([code, code === 'node-silent' ? { ...facts, ...deadAt(here) } : facts])
  return { found: withFacts(found, facts), facts, here }
}

function withFacts(found: readonly Found[], facts: Partial<Diagnosis>): readonly Found[] {
  return found.map(([code, own]) => [code, { ...facts, ...own }])
}

interface Here {
  readonly node: NodeInfo
  readonly own: NodeTopic
}

/** When the last of these nodes counts as dead, unless it is heard of again. */
function deadAt(here: readonly Here[]): Partial<Diagnosis> {
  const ends = here.flatMap(({ node: { heartbeat, report } }) =>
    heartbeat ? [heartbeat.getTime() + (report?.leaseMs ?? usualLeaseMs)] : [],
  )
  return ends.length === 0 ? {} : { until: new Date(Math.max(...ends)) }
}

function codeOfNodes(living: readonly NodeInfo[], here: readonly Here[], troubles: number): DiagnosisCode | undefined {
  // A process of an older release tells nothing, and one of very many topics not of each: they may well process the topic.
  if (here.length === 0) return living.some(({ report }) => !report || (report.omitted ?? 0) > 0) ? 'node-unknown' : 'no-node'
  if (here.every(({ node }) => node.life === 'silent')) return 'node-silent'
  if (here.every(({ node }) => node.quiet)) return 'node-quiet'
  if (troubles === here.length) return 'node-failing'
  const isFull = ({ own: { busy, concurrency } }: Here): boolean =>
    busy !== undefined && concurrency !== undefined && busy >= concurrency
  return here.every(isFull) ? 'no-slot' : undefined
}

/** The limit of the topic that is reached. */
function* limitOf({ dialect }: Context, { topic, nowMs }: Place): Verb<Partial<Diagnosis> | undefined> {
  const rows = yield sql`
    select t.kind, t.amount, t.per_ms, t.used from ${dialect.tables.limit} t where t.topic = ${topic} and t.kind in ('total', 'rate')`
  for (const row of rows) {
    const amount = toNumber(row['amount'])
    if (row['kind'] === 'total') {
      const [counted] = yield sql`
        select ${dialect.claims.countOpen('active', amount)} as active from ${dialect.tables.topic} p where p.topic = ${topic}`
      if (toNumber(counted!['active']) >= amount) return { limit: { kind: 'total', amount } }
      continue
    }
    const perUs = toNumber(row['per_ms']) * 1_000
    // The bucket has a token again when less than all but one are used.
    const freeUs = toNumber(row['used']) - perUs + perUs / amount
    if (freeUs > nowMs * 1_000) return { limit: { kind: 'rate', amount }, until: new Date(Math.ceil(freeUs / 1_000)) }
  }
  return undefined
}

/** How many ready tasks come first, at most `mostAhead`. */
function* aheadOf({ dialect }: Context, { topic, mode }: Place, task: TaskInfo): Verb<number> {
  const [row] = yield sql`
    select count(*) as ahead from (${before(dialect, topic, mode, task)}) f where ${comesFirst(mode.order, task)}`
  return Math.min(toNumber(row!['ahead']), mostAhead)
}

/** The first ready tasks, as polls find them. In the order `shared` only tasks of the same identifier and kind are sure to come first. */
function before(dialect: Context['dialect'], topic: string, mode: Place['mode'], { identifier, priority }: TaskInfo): Statement {
  const limit = dialect.expr.limit(raw(String(mostAhead + 1)))
  if (mode.order === 'shared')
    return sql`
      select t.sequence, t.priority
        from ${dialect.paths.identified('t')}
       where t.topic = ${topic} and t.identifier = ${identifier} and t.stage = ${priority < 0 ? stages.low : stages.high} and t.state = ${states.ready}
       order by t.sequence
       ${limit}`
  if (mode.order === 'fifo' && mode.condition === 'none') return dialect.claims.firstReady(topic, mostAhead + 1)
  return sql`
    select t.sequence, t.priority
      from ${dialect.paths.inReadyList(mode.order)}
     where ${dialect.paths.inTopic(topic)} and ${isInReadyList(dialect, mode)}
     order by ${dialect.paths.orderBy(mode.order)}
     ${limit}`
}

function comesFirst(order: Place['mode']['order'], { sequence, priority }: TaskInfo): Statement {
  if (order === 'lifo') return sql`f.sequence > ${sequence}`
  if (order !== 'priority') return sql`f.sequence < ${sequence}`
  return sql`(f.priority > ${priority} or f.priority = ${priority} and f.sequence < ${sequence})`
}
