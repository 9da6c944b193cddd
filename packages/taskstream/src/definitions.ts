import { invalid } from '@taskstream/task-api'
import type { AnyJob, AnyTopic } from '@taskstream/task-jobs'

/** What `prepare` makes known. */
export type Definition = AnyJob | AnyTopic

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

/** The definitions, and all those of jobs with which they may go on. */
export function reachable(
  definitions: readonly Definition[],
  found: Map<string, Definition> = new Map(),
): Map<string, Definition> {
  for (const definition of definitions) {
    const next = isTopic(definition) ? () => [] : checked(definition).settings.next
    if (found.has(definition.name)) continue
    found.set(definition.name, definition)
    reachable(next(), found)
  }
  return found
}

export function isTopic(definition: Definition): definition is AnyTopic {
  return definition?.settings?.what === 'topic'
}
