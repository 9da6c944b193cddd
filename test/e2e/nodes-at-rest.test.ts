/** What a node costs that has nothing to do. */
import type { TransactionSource } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

describe.skipIf(!canRun)('a node at rest', () => {
  const fixture = useNodeFixture('at-rest')

  test('does one thing at a time, so that one connection is enough and stays open', async () => {
    const { transactions: own } = fixture.subject
    let isCounting = false
    let open = 0
    let most = 0
    let begun = 0
    const transactions: TransactionSource<AnyTransaction> = async (work, options) => {
      open++
      if (isCounting) [begun, most] = [begun + 1, Math.max(most, open)]
      try {
        return await own(work, options)
      } finally {
        open--
      }
    }
    const { node, clock } = fixture.clocked({ transactions })
    await using _ = node
    // Nothing is polled: looks at topics are at any moment, and all topics share one.
    node.process(fixture.topic, { handler: eachTask(() => {}), activation: 'inactive' })
    await node.start()
    await expect.poll(() => open).toBe(0)
    isCounting = true
    for (let passedMs = 0; passedMs < 60_000; passedMs += 250) {
      clock.advance(250)
      await expect.poll(() => open).toBe(0)
    }
    // Twelve heartbeats, and what maintenance asks for four times.
    expect(begun).toBeGreaterThan(16)
    expect(most).toBe(1)
  })
})
