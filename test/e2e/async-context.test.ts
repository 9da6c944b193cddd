/** In a handler, AsyncLocalStorage has the context of the handler's caller, and never that of another batch. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

const count = 20
const storage = new AsyncLocalStorage<string>()
const succeed = (tasks: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
  new Map(tasks.map((task) => [task, TaskDecision.success()]))

describe.skipIf(!canRun)('the context of a handler', () => {
  const fixture = useNodeFixture('context')

  /**
   * Runs small batches at the same time, each in a context of its own.
   *
   * @returns the contexts that they and their completions saw
   */
  const run = async (mode: 'leased' | 'transactional'): Promise<Record<'before' | 'after' | 'completing', Set<unknown>>> => {
    await fixture.push(...Array.from({ length: count }, (_, index) => `task ${index}`))
    const seen = { before: new Set<unknown>(), after: new Set<unknown>(), completing: new Set<unknown>() }
    const gate = Promise.withResolvers<void>()
    let begun = 0
    const repository = Object.create(fixture.tasks) as Tasks
    const { complete } = fixture.tasks
    repository.complete = ((transaction: AnyTransaction, ...more: [never, never]) => {
      seen.completing.add(storage.getStore())
      return complete(transaction, ...more)
    }) as unknown as Tasks['complete']
    const node = fixture.nodeOf({ repository })
    node.process(fixture.topic, {
      mode,
      size: 1,
      concurrency: mode === 'leased' ? count : 1,
      handler: async (batch) => {
        seen.before.add(storage.getStore())
        const own = batch[0]!.identifier
        storage.enterWith(own)
        if (++begun === count || mode === 'transactional') gate.resolve()
        await gate.promise
        seen.after.add(storage.getStore() === own)
        return succeed(batch)
      },
    })
    await storage.run('whoever starts the node', () => node.start())
    await expect.poll(fixture.states).toEqual({ succeeded: count })
    await node.stop()
    return seen
  }

  test.each(['leased', 'transactional'] as const)(
    'is that of whoever started the node, and what it enters is its own: no other batch is in it, nor a completion that many share (%s)',
    async (mode) => {
      expect(await run(mode)).toEqual({
        before: new Set(['whoever starts the node']),
        after: new Set([true]),
        completing: new Set(['whoever starts the node']),
      })
    },
  )

  test('is not that of a push which is submitted with others: what many share is in the context of whoever made the node', async () => {
    const seen = new Set<unknown>()
    const repository = Object.create(fixture.tasks) as Tasks
    const { push } = fixture.tasks
    repository.push = ((...args: Parameters<Tasks['push']>) => (seen.add(storage.getStore()), push(...args))) as Tasks['push']
    const node = storage.run('whoever makes the node', () => fixture.nodeOf({ repository }))
    const stores = await Promise.all(
      Array.from({ length: 5 }, (_, index) =>
        storage.run(`caller ${index}`, async () => {
          await node.submit(fixture.topic, `task ${index}`)
          return storage.getStore()
        }),
      ),
    )
    expect(seen).toEqual(new Set(['whoever makes the node']))
    expect(stores).toEqual(Array.from({ length: 5 }, (_, index) => `caller ${index}`))
  })
})
