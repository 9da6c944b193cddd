/** What is shown of topics. */
import type { Activation, TopicOverview } from '@taskstream/task-api'
import type { Column } from '../output/column.ts'
import type { NamedDatabase } from './database.ts'

export type TopicRow = TopicOverview & { readonly paused: boolean }

/** Every topic, with counts up to the limit. */
export function readTopics({ reading, tasks }: NamedDatabase, limit: number): Promise<readonly TopicRow[]> {
  return reading(async (transaction) => {
    const activations: ReadonlyMap<string, Activation> = await tasks.activations(transaction)
    const overview: readonly TopicOverview[] = await tasks.overview(transaction, { limit })
    return overview.map((topic) => ({ ...topic, paused: activations.get(topic.topic)?.active === false }))
  })
}

export function topicColumns(limit: number): readonly Column<TopicRow>[] {
  const count = (value: number): string | number => atMost(value, limit)
  return [
    { name: 'topic', rank: 0, kind: 'identifier', value: ({ topic }) => topic },
    { name: 'ready', rank: 0, kind: 'number', value: ({ ready }) => count(ready) },
    { name: 'active', rank: 1, kind: 'number', value: ({ active }) => count(active) },
    { name: 'delayed', rank: 2, kind: 'number', value: ({ delayed }) => count(delayed) },
    { name: 'oldest', rank: 3, kind: 'duration', value: ({ oldestReadyMs }) => oldestReadyMs },
    { name: 'state', rank: 4, kind: 'word', value: ({ paused }) => (paused ? 'paused' : '') },
    { name: 'order', rank: 5, kind: 'word', value: ({ order }) => order },
    { name: 'condition', rank: 6, kind: 'word', value: ({ condition }) => condition },
  ]
}

/** A count that has reached the limit stands for that many tasks or more. */
export function atMost(value: number, limit: number): string | number {
  return value >= limit ? `${value}+` : value
}
