/** What processes tell of themselves. The row is another than that of the heartbeat, which stays as small as it is. */
import {
  checkDuration,
  checkInteger,
  checkNames,
  checkText,
  invalid,
  nodeKinds,
  taskLimits,
  verbOptions,
} from '@taskstream/task-api'
import type { NodeInfo, NodeLife, NodeReport, NodesOptions, NodeTrouble, ReportAnswer } from '@taskstream/task-api'
import { schemaFault, schemaStatus } from './migrate.ts'
import { raw, sql } from '../core/statement.ts'
import { present, toInstant, toNumber } from '../core/task-row.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'

const most = 10_000
const hourMs = 3_600_000
/** A report longer than that has an error of its own: it is what a process writes every half a minute. */
const reportLength = 262_144

export function* report(context: Context, told: NodeReport): Verb<ReportAnswer> {
  checkReport(told)
  const { dialect, ownerName, release, now } = context
  const { node } = dialect.tables
  const { writes, expr } = dialect
  const owner = told.kind === 'scheduler' ? schedulerOf(context.owner) : context.owner
  const { topics, kind, host, pid, leaseMs, ...rest } = told
  const [texts, state] = [JSON.stringify(topics), JSON.stringify(rest)]
  if (texts.length > reportLength || state.length > reportLength)
    throw invalid('report', `${texts.length + state.length} characters`, `must have at most ${reportLength} as JSON`)
  const instant = expr.now(now())
  const known = yield* writes.touched(
    sql`update ${node} set seen = ${instant}, lease_ms = ${leaseMs}, topics = ${texts}, report = ${state} where owner = ${owner}`,
  )
  if (known === 0) {
    const row = { owner, name: ownerName, kind, host, pid, release_name: release ?? null, started: instant, seen: instant }
    yield* writes.touched(
      writes.insertIfAbsent(node, { ...row, lease_ms: leaseMs, quiet: 0, topics: texts, report: state }, 'owner'),
    )
  }
  const [row] = yield sql`select quiet from ${node} where owner = ${owner}`
  const refusal = schemaFault(yield* schemaStatus(dialect))
  return { quiet: row !== undefined && toNumber(row['quiet']) === 1, ...(refusal && { refusal }) }
}

/** A scheduler holds no tasks, and so is no owner with a heartbeat. Its row stands beside that of the node which has the same repository. */
function schedulerOf(owner: string): string {
  return `${owner}/timers`
}

export function* quiet({ dialect }: Context, owner: string, value = true): Verb<boolean> {
  checkText('owner', owner, taskLimits.ownerLength)
  if (typeof value !== 'boolean') throw invalid('quiet', value, 'must be true or false')
  const { node } = dialect.tables
  // Looked for first: a row that a process inserts between an update and a look would seem to have been changed.
  if ((yield sql`select 1 as known from ${node} where owner = ${owner}`).length === 0) return false
  const number = value ? 1 : 0
  yield* dialect.writes.touched(sql`update ${node} set quiet = ${number} where owner = ${owner} and quiet <> ${number}`)
  return true
}

export function* nodes(context: Context, options: NodesOptions = {}): Verb<readonly NodeInfo[]> {
  checkNames(verbOptions.nodes, options)
  const { topic, withinMs = hourMs } = options
  checkDuration('withinMs', withinMs)
  const found = yield* readNodes(context, withinMs)
  return topic === undefined ? found : found.filter((node) => node.report?.topics.some((each) => each.topic === topic))
}

/** Every owner with a row of either kind. Those that live come first, and of them the latest. */
export function* readNodes({ dialect, now }: Pick<Context, 'dialect' | 'now'>, withinMs: number): Verb<readonly NodeInfo[]> {
  const { node, owner } = dialect.tables
  const { expr } = dialect
  const instant = expr.now(now())
  const after = expr.plusMs(instant, sql`${-withinMs}`)
  const owners = yield sql`
    select o.owner, o.name, ${expr.epochMs(raw('o.heartbeat'))} as heartbeat, ${expr.epochMs(instant)} as now
      from ${owner} o
     order by o.heartbeat desc
     ${expr.limit(raw(String(most)))}`
  const reports = yield sql`
    select n.owner, n.name, n.kind, n.host, n.pid, n.release_name, n.lease_ms, n.quiet, n.topics, n.report,
           ${expr.epochMs(raw('n.started'))} as started, ${expr.epochMs(raw('n.seen'))} as seen, ${expr.epochMs(instant)} as now
      from ${node} n
     where n.seen >= ${after} or exists (select 1 from ${owner} o where o.owner = n.owner)
     order by n.seen desc
     ${expr.limit(raw(String(most)))}`
  const told = new Map(reports.map((row) => [String(row['owner']), row]))
  const beating = new Map(owners.map((row) => [String(row['owner']), row]))
  const all = [...new Set([...beating.keys(), ...told.keys()])]
  const infos = all.map((name) => toNode(name, beating.get(name), told.get(name)))
  return infos.toSorted((left, right) => lives.indexOf(left.life) - lives.indexOf(right.life))
}

const lives: readonly NodeLife[] = ['living', 'silent', 'dead', 'stopped']

/** The lease of a process that has told none, as old releases tell nothing. */
export const usualLeaseMs = 30_000

/** How a process fares that has been silent for so long. A heartbeat comes thrice in a lease. */
export function lifeOf(silentMs: number, leaseMs: number): Exclude<NodeLife, 'stopped'> {
  if (silentMs > leaseMs) return 'dead'
  return silentMs > leaseMs / 2 ? 'silent' : 'living'
}

function toNode(owner: string, beating: Row | undefined, told: Row | undefined): NodeInfo {
  const report = told && toReport(told)
  const row = (told ?? beating)!
  const silentMs = silentMsOf(beating ?? (report?.kind === 'scheduler' ? told : undefined))
  return {
    owner,
    name: String(row['name']),
    life: report?.stopped ? 'stopped' : lifeOf(silentMs, report?.leaseMs ?? usualLeaseMs),
    quiet: told !== undefined && toNumber(told['quiet']) === 1,
    ...present('heartbeat', beating?.['heartbeat'] ?? null, toInstant),
    ...(report && { report }),
    ...present('release', told?.['release_name'] ?? null, String),
    ...present('started', told?.['started'] ?? null, toInstant),
    ...present('reported', told?.['seen'] ?? null, toInstant),
  }
}

/** For how long nobody has heard of a process, by its heartbeat if it has one, or else by its reports. */
function silentMsOf(row: Row | undefined): number {
  return row ? toNumber(row['now']) - toNumber(row['heartbeat'] ?? row['seen']) : Infinity
}

/** A row that another release wrote may have more in it, or less. */
function toReport(row: Row): NodeReport {
  const { error, ...rest } = parsed<Partial<NodeReport>>(row['report']) ?? {}
  const topics = toTopics(row['topics'])
  return {
    ...rest,
    kind: nodeKinds.find((kind) => kind === row['kind']) ?? 'node',
    host: String(row['host']),
    pid: toNumber(row['pid']),
    leaseMs: toNumber(row['lease_ms']),
    topics: topics.map(({ error: ownError, newer, ...topic }) => ({
      ...topic,
      ...(ownError && { error: toTrouble(ownError) }),
      ...(newer && { newer: toTrouble(newer) }),
    })),
    ...(error && { error: toTrouble(error) }),
  }
}

/** What a node has told of its topics. */
export function toTopics(text: unknown): NodeReport['topics'] {
  const told = parsed<unknown>(text)
  return Array.isArray(told) ? (told as NodeReport['topics']) : []
}

/** What is no JSON, as when somebody has edited the row, tells nothing. It keeps no question from being answered. */
function parsed<Value>(text: unknown): Value | undefined {
  try {
    return (JSON.parse(String(text)) as Value | null) ?? undefined
  } catch {
    return undefined
  }
}

function toTrouble(trouble: NodeTrouble): NodeTrouble {
  return { ...trouble, since: new Date(trouble.since) }
}

function checkReport(told: NodeReport): void {
  if (typeof told !== 'object' || told === null) throw invalid('report', told, 'must be an object')
  if (!nodeKinds.includes(told.kind)) throw invalid('kind', told.kind, `must be one of ${nodeKinds.join(', ')}`)
  checkText('host', told.host, 250)
  checkInteger('pid', told.pid, 0, Number.MAX_SAFE_INTEGER)
  checkDuration('leaseMs', told.leaseMs)
  if (!Array.isArray(told.topics)) throw invalid('topics', told.topics, 'must be a list')
}
