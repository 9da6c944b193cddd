/** Topics, and what needs attention. */
import type { Attention } from '@taskstream/task-operations'
import { sees } from '../core/access.ts'
import { checkSeen } from '../core/context.ts'
import { maskMessage } from '../core/mask.ts'
import type { TopicAnswer } from './overview.ts'
import type { Asked } from './route.ts'

export interface TopicsAnswer {
  readonly topics: readonly TopicAnswer[]
  readonly next?: number
  readonly total: number
}

export async function readTopics(
  asked: Asked,
  { offset, size }: { readonly offset: number; readonly size: number },
): Promise<TopicsAnswer> {
  const { topics } = await asked.overview()
  const mine = topics.filter(({ topic }) => sees(asked.access, topic))
  const next = offset + size
  return { topics: mine.slice(offset, next), total: mine.length, ...(next < mine.length && { next }) }
}

export async function readTopic(asked: Asked, given: { readonly topic: string }): Promise<TopicAnswer> {
  const topic = given.topic
  checkSeen(asked, topic)
  const { topics } = await asked.overview()
  const found = topics.find((each) => each.topic === topic)
  if (found) return found
  // It may be new. If there is none, the verb says so.
  await asked.read((transaction) => asked.tasks.page(transaction, topic, { size: 1 }))
  return {
    topic,
    order: 'fifo',
    condition: 'none',
    keyed: false,
    record: 'states',
    ready: 0,
    active: 0,
    delayed: 0,
    failed: 0,
    nodes: 0,
    ended: 0,
    state: 'unattended',
  }
}

export async function readAttention(asked: Asked): Promise<{ readonly attention: readonly Attention[] }> {
  const { attention } = await asked.overview()
  const mine = attention.filter(({ topic }) => sees(asked.access, topic))
  return { attention: mine.map((each) => ({ ...each, text: maskMessage(each.text) })) }
}
