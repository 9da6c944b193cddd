/** Looks at what processes tell of themselves: whether every topic is processed, and how they fare. */
import type { NodeInfo, NodeTopic } from '@taskstream/task-api'
import type { Dialect } from '../../core/dialect.ts'
import type { Look, LookOptions } from '../../core/examination.ts'
import { raw, sql } from '../../core/statement.ts'
import { toNumber } from '../../core/task-row.ts'
import type { Row, Verb } from '../../core/verb.ts'
import { readNodes } from '../nodes.ts'
import { databaseTime } from '../../core/database-time.ts'

/** How many topics are looked at. */
const mostTopics = 1_000
/** For how long processes count that have ended. They only tell who was the last. */
const withinMs = 86_400_000

type NodeLook = 'nobody-processes' | 'node-failing' | 'failing' | 'release-skew' | 'options-unlike' | 'event-loop'

/** What a process tells of a topic. */
interface Processing {
  readonly node: NodeInfo
  readonly topic: NodeTopic
}

export function nodeLooks(dialect: Dialect): Readonly<Record<NodeLook, Look>> {
  const ofLiving = (rowsOf: (living: readonly NodeInfo[]) => readonly Row[]): Look => ({
    read: function* (options) {
      return rowsOf((yield* nodesOf(dialect, options)).filter(isLiving))
    },
  })
  return {
    'nobody-processes': { read: (options) => nobodyProcesses(dialect, options) },
    'node-failing': ofLiving(nodeFailing),
    failing: ofLiving(failing),
    'release-skew': { read: (options) => releaseSkew(dialect, options) },
    'options-unlike': ofLiving(optionsUnlike),
    'event-loop': ofLiving((living) =>
      living.flatMap(({ name, report }) => (report?.blockedMs === undefined ? [] : [{ node: name, value: report.blockedMs }])),
    ),
  }
}

function nodesOf(dialect: Dialect, { now }: LookOptions): Verb<readonly NodeInfo[]> {
  return readNodes({ dialect, now: () => now }, withinMs)
}

function isLiving({ life }: NodeInfo): boolean {
  return life === 'living' || life === 'silent'
}

function byTopic(living: readonly NodeInfo[]): ReadonlyMap<string, readonly Processing[]> {
  const all = living.flatMap((node) => (node.report?.topics ?? []).map((topic) => ({ node, topic })))
  return Map.groupBy(all, ({ topic }) => topic.topic)
}

/** Topics with ready tasks that no living process tells of. A living process that tells nothing may process any of them, so nothing is known then. */
function* nobodyProcesses(dialect: Dialect, options: LookOptions): Verb<readonly Row[]> {
  const { tables, expr, claims } = dialect
  const nodes = yield* nodesOf(dialect, options)
  if (nodes.some((node) => isLiving(node) && !node.report)) return []
  const topics = yield sql`
    select x.topic, ${expr.epochMs(expr.now(options.now))} - ${expr.epochMs(raw('x.oldest'))} as value
      from (select p.topic, ${claims.oldestReady} as oldest
              from ${tables.topic} p
             where not exists (select 1 from ${tables.activation} a where a.topic = p.topic and a.active = ${expr.false})) x
     where x.oldest is not null
     order by x.oldest
     ${expr.limit(raw(String(mostTopics)))}`
  const processed = byTopic(nodes.filter(isLiving))
  return topics
    .filter(({ topic }) => !processed.has(String(topic)))
    .map((row) => ({ ...row, value: toNumber(row['value']), last: lastOf(nodes, String(row['topic'])) }))
}

/** Which process was the last of a topic. */
function lastOf(nodes: readonly NodeInfo[], topic: string): string {
  const reportedMs = ({ node }: Processing): number => node.reported?.getTime() ?? 0
  const [last] = (byTopic(nodes).get(topic) ?? []).toSorted((one, other) => reportedMs(other) - reportedMs(one))
  if (!last) return 'no node has processed it within a day'
  const { name, release, life } = last.node
  return `the last was ${name}${release === undefined ? '' : ` of release ${release}`}, which is ${life}`
}

/** Processes in which something fails beside handlers. `value` is their share of all processes of the topic, or of all processes. */
function nodeFailing(living: readonly NodeInfo[]): readonly Row[] {
  const ofTopics = [...byTopic(living)].flatMap(([topic, all]) =>
    all.flatMap(({ node, topic: { error } }) =>
      error ? [{ topic, node: node.name, error, all: all.map((each) => each.topic.error) }] : [],
    ),
  )
  const ofProcesses = living.flatMap(({ name, report }) =>
    report?.error ? [{ topic: null, node: name, error: report.error, all: living.map((each) => each.report?.error) }] : [],
  )
  return [...ofProcesses, ...ofTopics].map(({ topic, node, error, all }) => ({
    topic,
    node,
    activity: error.activity,
    message: error.message,
    value: all.filter((each) => each !== undefined).length / all.length,
  }))
}

/** Attempts that failed within the last minute, of those that ended. */
function failing(living: readonly NodeInfo[]): readonly Row[] {
  return [...byTopic(living)].flatMap(([topic, all]) => {
    const ended = all.reduce((sum, each) => sum + (each.topic.ended ?? 0), 0)
    const failed = all.reduce((sum, each) => sum + (each.topic.failed ?? 0), 0)
    return ended === 0 ? [] : [{ topic, failed, size: ended, value: failed / ended }]
  })
}

/** Releases that run side by side. `value` is for how long the youngest of them has done so. */
function* releaseSkew(dialect: Dialect, options: LookOptions): Verb<readonly Row[]> {
  const living = (yield* nodesOf(dialect, options)).filter(isLiving)
  const releases = Map.groupBy(
    living.filter(({ release, started }) => release !== undefined && started !== undefined),
    ({ release }) => release!,
  )
  if (releases.size < 2) return []
  const now = yield* databaseTime(dialect, options.now)
  const begun = [...releases.values()].map((nodes) => Math.min(...nodes.map(({ started }) => started!.getTime())))
  return [{ value: Math.max(0, now - Math.max(...begun)), releases: [...releases.keys()].toSorted().join(', ') }]
}

/** Topics that processes handle in unlike ways. */
function optionsUnlike(living: readonly NodeInfo[]): readonly Row[] {
  return [...byTopic(living)].flatMap(([topic, all]) => {
    const differing = (['mode', 'size', 'concurrency'] as const).filter(
      (option) => new Set(all.map((each) => each.topic[option])).size > 1,
    )
    return differing.length === 0 ? [] : [{ topic, options: differing.join(', '), value: differing.length }]
  })
}
