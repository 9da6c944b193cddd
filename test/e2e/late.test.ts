/** A handler that comes too late changes nothing. */
import { TaskDecision } from '@taskstream/task-api'
import type { Completion, HeldTask } from '@taskstream/task-api'
import type { HandlerContext } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

const decideAll = (held: readonly HeldTask[]): ReadonlyMap<HeldTask, TaskDecision> =>
  new Map(held.map((task) => [task, TaskDecision.success('late')]))

describe.skipIf(!canRun)('a handler that comes too late', () => {
  const fixture = useNodeFixture('late')

  test('cannot complete after its node has stopped, and is not asked what it would write', async () => {
    await fixture.push('a')
    const began = Promise.withResolvers<HandlerContext<AnyTransaction>>()
    const lost: string[] = []
    const node = fixture.nodeOf({
      listener: { onLost: ({ tasks }) => void lost.push(...tasks.map(({ identifier }) => identifier)) },
    })
    node.process(fixture.topic, {
      handler: (_, context) => {
        began.resolve(context)
        // This promise never settles.
        return new Promise<never>(() => {})
      },
    })
    await node.start()
    const { complete, signal } = await began.promise
    const { returned } = await node.stop({ graceMs: 0, abortMs: 1 })
    expect([returned.length, signal.aborted]).toEqual([1, true])
    let asked = 0
    await expect(complete((_, held) => (asked++, decideAll(held)))).rejects.toMatchObject({ code: 'TASK_LOST' })
    // The completion reports the loss. How often it is reported does not matter here.
    expect([asked, new Set(lost), await fixture.states()]).toEqual([0, new Set(['a']), { ready: 1 }])
  })

  test('is given nothing to write for when others have taken its tasks, and is told so', async () => {
    await fixture.push('a', 'b')
    const began = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const lost: string[] = []
    let completion: Completion | undefined
    let given: readonly HeldTask[] | undefined
    await using node = fixture.nodeOf({
      heartbeatIntervalMs: 1_000,
      maintenanceIntervalMs: 60_000,
      listener: { onLost: ({ tasks }) => void lost.push(...tasks.map(({ identifier }) => identifier)) },
    })
    node.process(fixture.topic, {
      concurrency: 1,
      handler: async (_, { complete }) => {
        began.resolve()
        await gate.promise
        completion = await complete((__, held) => decideAll((given = held)))
      },
    })
    await node.start()
    await began.promise
    // As if its lease had run out: another takes what it holds, and does the first of the two.
    const other = fixture.subject.tasks()
    await fixture.commit(async (transaction) => {
      await other.register(transaction)
      await fixture.tasks.unregister(transaction)
      await other.expire(transaction, { olderThanMs: 1_000_000, then: 'ready' })
      const [first] = (await other.poll(transaction, fixture.topic, { size: 1 })) as HeldTask[]
      await other.complete(transaction, fixture.topic, new Map([[first!, TaskDecision.success('theirs')]]))
    })
    gate.resolve()
    await expect.poll(() => completion).toMatchObject({ completed: [], lost: [{ identifier: 'a' }, { identifier: 'b' }] })
    expect(given).toEqual([])
    expect(lost).toEqual(['a', 'b'])
    expect((await fixture.page())[0]?.output).toBe('theirs')
  })
})
