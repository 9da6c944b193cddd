/** Everything at a glance: topics, nodes and what needs attention, read once for all who look. */
import type { Activation, ErrorGroup, NodeInfo, TopicOverview } from '@taskstream/task-api'
import { attention } from '@taskstream/task-operations'
import type { Attention } from '@taskstream/task-operations'
import type { Context } from '../core/context.ts'

/** Counts of a list stop here. */
const mostCounted = 1_000

export interface TopicAnswer extends TopicOverview {
  /** Attempts of the last hour that did not succeed. */
  readonly failed: number
  readonly nodes: number
  readonly ended: number
  /** Unknown: only processes live that do not tell what they do. */
  readonly state: 'running' | 'paused' | 'unattended' | 'unknown'
  readonly paused?: { readonly since: Date; readonly actor?: string; readonly note?: string }
}

export interface Overview {
  readonly at: Date
  /** By what needs somebody most. */
  readonly topics: readonly TopicAnswer[]
  readonly nodes: readonly NodeInfo[]
  readonly attention: readonly Attention[]
}

const hour = 3_600_000
/** Whoever sees some topics only is shown what concerns these, so all are asked for. */
const mostFindings = 1_000

export async function readOverview({ tasks, transactions, read }: Context): Promise<Overview> {
  const found = await attention({ tasks, transactions, limit: mostFindings })
  return read(async (transaction) => {
    const overview: readonly TopicOverview[] = await tasks.overview(transaction, { limit: mostCounted })
    const activations = (await tasks.activations(transaction)) as ReadonlyMap<string, Activation>
    const nodes = (await tasks.nodes(transaction, { withinMs: 24 * hour })) as readonly NodeInfo[]
    const errors = (await tasks.errors(transaction, { withinMs: hour })) as readonly ErrorGroup[]
    const failed = new Map<string, number>()
    for (const { topic, count } of errors) failed.set(topic, (failed.get(topic) ?? 0) + count)
    const topics = overview.map((topic) => toAnswer(topic, activations.get(topic.topic), nodes, failed.get(topic.topic) ?? 0))
    return { at: new Date(), topics: byNeed(topics, found), nodes, attention: found }
  })
}

function toAnswer(
  topic: TopicOverview,
  activation: Activation | undefined,
  nodes: readonly NodeInfo[],
  failed: number,
): TopicAnswer {
  const living = nodes.filter(({ life }) => life === 'living' || life === 'silent')
  const mine = living.flatMap(({ report }) => report?.topics.filter((each) => each.topic === topic.topic) ?? [])
  const paused = activation?.active === false ? pausedBy(activation) : undefined
  return {
    ...topic,
    failed,
    nodes: mine.length,
    ended: mine.reduce((total, { ended = 0 }) => total + ended, 0),
    state: paused ? 'paused' : mine.length > 0 ? 'running' : living.some(({ report }) => !report) ? 'unknown' : 'unattended',
    ...(paused && { paused }),
  }
}

function pausedBy({ changed, actor, note }: Activation): NonNullable<TopicAnswer['paused']> {
  return { since: changed, ...(actor !== undefined && { actor }), ...(note !== undefined && { note }) }
}

function byNeed(topics: readonly TopicAnswer[], found: readonly Attention[]): readonly TopicAnswer[] {
  const place = new Map<string, number>()
  for (const [index, { topic }] of found.entries()) if (topic !== undefined && !place.has(topic)) place.set(topic, index)
  const rank = ({ topic }: TopicAnswer): number => place.get(topic) ?? found.length
  return topics.toSorted((left, right) => rank(left) - rank(right) || right.ready - left.ready || right.failed - left.failed)
}
