/** A topic with limits learns how far it is done, as one without does: otherwise each of its polls would read all that was ever done. */
import { eachTask } from '@taskstream/task-processor'
import { sql } from '@taskstream/task-sql'
import type { TopicLimits } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

describe.skipIf(!canRun)('polls of a topic', () => {
  const fixture = useNodeFixture('limits-history')

  test.each([
    ['a total', { total: 200 }],
    ['a rate', { rate: { count: 10_000, perMs: 1_000 } }],
    ['both', { total: 200, rate: { count: 10_000, perMs: 1_000 } }],
  ] satisfies [string, TopicLimits][])('with %s go on from what is done', async (_what, limits) => {
    const { topic } = fixture
    await fixture.commit((transaction) => fixture.tasks.limit(transaction, topic, limits))
    await using node = fixture.nodeOf({})
    node.process(topic, { size: 100, idleMs: 20, handler: eachTask(() => {}) })
    await node.start()
    const floor = async (): Promise<number> => {
      const [row] = await fixture.subject.transactions<readonly Record<string, unknown>[]>(
        (transaction) =>
          fixture.subject.execute(transaction, sql`select floor from taskstream.task_topic where topic = ${topic}`) as never,
      )
      return Number(row!['floor'])
    }
    // It is written down every thousand tasks, and a poll learns it from the one before.
    await expect
      .poll(
        async () => {
          await fixture.push(...Array.from({ length: 500 }, () => 'a'))
          return floor()
        },
        { timeout: 30_000 },
      )
      .toBeGreaterThan(0)
  })
})
