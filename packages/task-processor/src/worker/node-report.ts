import type { NodeReport, NodeTopic } from '@taskstream/task-api'
import type { Told } from '../liveness/reporting.ts'
import type { Hearing } from './hearing.ts'
import type { TaskManager } from './task-manager.ts'

/** How many topics a report names, and how long they are as JSON: it is written every half a minute. */
const mostTopics = 1_000
const topicsLength = 200_000

/** How many tasks of a topic are told of which a handler does not let go. */
const mostStuck = 100

export interface ReportedNode<Transaction> {
  readonly hearing: Hearing
  readonly managers: () => Iterable<TaskManager<Transaction>>
  readonly leaseMs: number
}

/** Says what a node tells of itself now. A topic that is paused is not of it; one that cannot be processed is, with its error. */
export function describeNode<Transaction>({ hearing, managers, leaseMs }: ReportedNode<Transaction>): Told {
  const topics: NodeTopic[] = []
  for (const manager of managers()) {
    const { topic, isActive } = manager
    const fares = hearing.of(topic, isActive)
    if (isActive || fares.error) topics.push({ ...describeTopic(manager), ...fares })
  }
  const { blockedMs, trouble } = hearing
  return { kind: 'node', leaseMs, ...cut(topics), blockedMs, ...(trouble && { error: trouble }) }
}

function describeTopic<Transaction>({
  topic,
  processing,
  concurrency,
  batches,
  emptyMs,
  idleMs,
  slots,
  hung,
}: TaskManager<Transaction>): NodeTopic {
  const { mode, size } = processing
  const all = [...batches]
  const stuck = all.flatMap((batch) => batch.stuck).slice(0, mostStuck)
  return {
    topic,
    mode,
    size,
    concurrency: slots?.concurrency ?? concurrency,
    // Batches that are held ahead keep no handler busy.
    busy: slots?.busy ?? all.filter(({ isWaiting }) => !isWaiting).length,
    idleMs,
    ...(emptyMs !== undefined && { emptyMs }),
    ...(stuck.length > 0 && { stuck }),
    ...(hung > 0 && { hung }),
  }
}

/** Leaves out topics if they are too many for one report, last of all those that have an error. */
function cut(all: readonly NodeTopic[]): Pick<NodeReport, 'topics' | 'omitted'> {
  if (all.length <= mostTopics && JSON.stringify(all).length <= topicsLength) return { topics: all }
  const topics: NodeTopic[] = []
  let length = 0
  for (const topic of all.toSorted((left, right) => Number(!left.error) - Number(!right.error))) {
    length += JSON.stringify(topic).length + 1
    if (topics.length === mostTopics || length > topicsLength) break
    topics.push(topic)
  }
  return { topics, omitted: all.length - topics.length }
}
