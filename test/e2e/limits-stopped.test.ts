/** What a node has wanted under a limit of all processes is for the others once it has stopped to process the topic, though the node itself lives on. */
import { eachTask } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

const aDay = 86_400_000

describe.skipIf(!canRun)('the only slot of a topic', () => {
  const fixture = useNodeFixture('limits-stopped')

  test('is not kept for a node that waited for it, and has stopped to process the topic', async () => {
    await fixture.commit((transaction) => fixture.tasks.limit(transaction, fixture.topic, { total: 1 }))
    // Among those who want as much the order of their names decides: the waiting one comes first.
    const [first, second] = [fixture.subject.tasks(), fixture.subject.tasks()].toSorted((one, other) =>
      one.owner < other.owner ? -1 : 1,
    )
    await using waiting = fixture.nodeOf({ repository: first!, maintenanceIntervalMs: aDay })
    const manager = waiting.process(fixture.topic, { size: 1, concurrency: 1, idleMs: 20, handler: eachTask(() => {}) })
    const slots = (held: number): Promise<number | undefined> =>
      fixture.subject
        .transactions<{ slots?: number | undefined }>((transaction: AnyTransaction) =>
          second!.takeSlots(transaction, fixture.topic, { held, wanted: 1 }),
        )
        .then((grant) => grant.slots)
    await fixture.commit((transaction) => second!.register(transaction))
    expect(await slots(1)).toBe(1)
    await waiting.start()
    // It is told that the only slot is taken, but that it is the next to have it.
    await expect.poll(() => slots(0)).toBe(0)
    await manager.stop()
    expect(await slots(0)).toBe(1)
  })
})
