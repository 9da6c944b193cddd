import { invalid } from '@taskstream/task-api'
import type { TopicOptions } from '@taskstream/task-api'
import type { AnyJob, AnyTopic, CheckedLimits, Queue } from '@taskstream/task-jobs'

/** What `prepare` makes known. */
export type Definition = AnyJob | AnyTopic | Queue

/** Refuses what `defineJob` has not made. */
export function checked<SomeJob extends AnyJob>(job: SomeJob): SomeJob {
  if (typeof job?.settings?.next !== 'function')
    throw invalid('job', job, 'must be made by defineJob (the transaction comes first; submit takes none)')
  return job
}

/** Refuses what `defineTopic` has not made. */
export function checkedTopic<SomeTopic extends AnyTopic>(topic: SomeTopic): SomeTopic {
  if (!isTopic(topic)) throw invalid('topic', topic, 'must be made by defineTopic')
  return topic
}

/** Refuses what `defineQueue` has not made. */
export function checkedQueue<SomeQueue extends Queue>(queue: SomeQueue): SomeQueue {
  if (queue?.settings?.what !== 'queue') throw invalid('queue', queue, 'must be made by defineQueue')
  return queue
}

/** The definitions, and all those of jobs with which they may go on. */
export function reachable(
  definitions: readonly Definition[],
  found: Map<string, Definition> = new Map(),
): Map<string, Definition> {
  for (const definition of definitions) {
    const next = isTopic(definition) || isQueue(definition) ? () => [] : checked(definition).settings.next
    if (found.has(definition.name)) continue
    found.set(definition.name, definition)
    reachable(next(), found)
  }
  return found
}

/** The definitions with all that their jobs need to be pushed, to go on and to start. */
export function closureOf(definitions: readonly Definition[]): Map<string, Definition> {
  const found = reachable(definitions)
  const needed = [...found.values()].flatMap(({ settings }) =>
    settings.what === 'job' ? [...(settings.needs?.values() ?? [])].map(({ job }) => job) : [],
  )
  if (needed.every(({ name }) => found.has(name))) return found
  return closureOf([...found.values(), ...needed])
}

/** The queues of a job, and of all with which it may go on. */
export function queuesOf(job: AnyJob): ReadonlySet<string> {
  const queues = [...reachable([job]).values()].map(({ settings }) =>
    settings.what === 'job' ? settings.queue?.name : undefined,
  )
  return new Set(queues.filter((name) => name !== undefined))
}

export function isTopic(definition: Definition): definition is AnyTopic {
  return definition?.settings?.what === 'topic'
}

function isQueue(definition: Definition): definition is Queue {
  return definition?.settings?.what === 'queue'
}

/** A topic as a definition needs it. */
interface NeededTopic {
  readonly name: string
  readonly what: Definition['settings']['what']
  readonly topic: TopicOptions
  readonly limits: CheckedLimits | undefined
}

function neededQueue({ name, settings }: Queue): NeededTopic {
  return { name, what: 'queue', topic: settings.topic, limits: settings.limits }
}

/**
 * The topics of definitions, in the order of their names: jobs of a queue share that.
 *
 * @throws TaskError ARGUMENT_INVALID if a queue has the name of something else
 */
export function topicsOf(definitions: Iterable<Definition>): readonly NeededTopic[] {
  const needed = new Map<TopicOptions, NeededTopic>()
  for (const { name, settings } of definitions) {
    const queue = settings.what === 'job' ? settings.queue : undefined
    const { topic } = settings
    const limits = settings.what === 'topic' ? undefined : settings.limits
    needed.set(topic, { ...(queue ? { name: queue.name, what: 'queue' } : { name, what: settings.what }), topic, limits })
    const { deadLetter } = limits ?? {}
    if (deadLetter) needed.set(deadLetter.settings.topic, neededQueue(deadLetter))
  }
  const topics = [...needed.values()].toSorted((left, right) => (left.name < right.name ? -1 : 1))
  for (const [index, { name, what }] of topics.entries()) {
    const other = topics[index + 1]
    if (other?.name === name && other.what !== what)
      throw invalid('name', name, `must not be that of a ${what} and of a ${other.what}: their tasks would be in one topic`)
  }
  return topics
}
