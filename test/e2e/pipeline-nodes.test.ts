/** The contexts of a composite have their part in what a node makes of a batch: one transaction, or none. */
import { composite, TaskNode } from '@taskstream/task-processor'
import type { TaskContext } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { gate } from '../composite.ts'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useWriting } from './writing.ts'

describe.skipIf(!canRun)('the contexts of a composite', () => {
  const { fixture, written, writing } = useWriting()
  const nothing = (): void => {}

  test('have their part in the one transaction of a batch in transactional mode', async () => {
    const events: string[] = []
    let broken = true
    const failing: TaskContext<AnyTransaction> = {
      apply: (_, decisions) => {
        events.push(`apply ${decisions.size}`)
        if (broken) throw new Error('at first')
      },
      afterTransaction: ({ decisions }) => void events.push(`committed ${decisions.size}`),
    }
    const empty = Promise.withResolvers<void>()
    await using node = new TaskNode<AnyTransaction>({
      repository: await fixture.owner(),
      transactions: fixture.subject.transactions,
      listener: {
        // After an empty poll, a batch is one transaction.
        onEmpty: () => empty.resolve(),
        onError: ({ error }) => {
          events.push((error as Error).message)
          broken = false
        },
      },
    })
    const handler = composite({ contexts: [writing, failing] }).batch('step', nothing)
    node.process(fixture.topic, { handler, mode: 'transactional', idleMs: 20 })
    await node.start()
    await empty.promise
    await fixture.push('a', 'b')
    await expect.poll(fixture.states).toEqual({ succeeded: 2 })
    await node.stop()
    // The rollback has undone the poll, so the tasks are handled again. A poll may bring them one by one: then each has its transaction.
    const [first, thrown, ...again] = events
    expect([first, thrown]).toEqual(['apply 2', 'at first'])
    expect([
      ['apply 2', 'committed 2'],
      ['apply 1', 'committed 1', 'apply 1', 'committed 1'],
    ]).toContainEqual(again)
    expect(await written()).toEqual(['a', 'b'])
  })

  test('know nothing of a batch that a stop of the node has handed back, without waiting for its steps', async () => {
    await fixture.push('a')
    const hold = gate()
    await using node = new TaskNode<AnyTransaction>({
      repository: await fixture.owner(),
      transactions: fixture.subject.transactions,
    })
    node.process(fixture.topic, {
      handler: composite({ contexts: [writing], pendingOnClose: 'return' }).each('held', () => hold.pass()),
    })
    await node.start()
    await hold.reached
    const { returned } = await node.stop({ graceMs: 600_000 })
    expect(returned.map(({ identifier }) => identifier)).toEqual(['a'])
    hold.open()
    expect(await fixture.states()).toEqual({ ready: 1 })
    expect(await written()).toEqual([])
  })
})
