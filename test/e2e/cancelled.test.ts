/** A task is cancelled while its handler works on it: the handler is told, and nothing that it writes with its completion is kept. */
import type { Cancellation, HeldTask, TaskError } from '@taskstream/task-api'
import { TaskDecision } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

describe.skipIf(!canRun)('a task that is cancelled while its handler works', () => {
  const fixture = useNodeFixture('cancelled')
  const cancel = (externalId: string): Promise<Cancellation> =>
    fixture.commit<Cancellation>((transaction) => fixture.tasks.cancel(transaction, fixture.topic, { externalId }))

  test('aborts the signal of its handler, which then has room for another', async () => {
    const begun = Promise.withResolvers<void>()
    const told = Promise.withResolvers<TaskError>()
    const lost: string[] = []
    await using node = fixture.nodeOf({
      maintenanceIntervalMs: 10,
      listener: { onLost: ({ tasks }) => void lost.push(...tasks.map(({ identifier }) => identifier)) },
    })
    node.process(fixture.topic, {
      size: 1,
      concurrency: 1,
      handler: async ([task], { signal }) => {
        if (task!.identifier === 'quick') return new Map([[task!, TaskDecision.success()]])
        begun.resolve()
        return new Promise<never>((_, reject) => {
          signal.addEventListener('abort', () => {
            told.resolve(signal.reason as TaskError)
            reject(signal.reason as TaskError)
          })
        })
      },
    })
    await node.start()
    await fixture.push({ identifier: 'long', externalId: 'order 7' }, 'quick')
    await begun.promise
    expect(await cancel('order 7')).toMatchObject({ taken: [{ identifier: 'long' }] })
    expect(await told.promise).toMatchObject({ code: 'TASK_LOST', data: { lost: [{ identifier: 'long' }] } })
    await expect.poll(() => fixture.states()).toEqual({ filtered: 1, succeeded: 1 })
    expect((await fixture.page())[0]).toMatchObject({ state: 'filtered', reason: 'cancelled', tries: 1 })
    expect(lost).toEqual(['long'])
  })

  test('is not completed by a handler that does not look at its signal, and what that writes is undone', async () => {
    const begun = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    const completed = Promise.withResolvers<unknown>()
    await using node = fixture.nodeOf()
    node.process(fixture.topic, {
      size: 1,
      handler: async ([task], { complete }) => {
        if (task!.identifier === 'written') return new Map([[task!, TaskDecision.success()]])
        begun.resolve()
        await go.promise
        const done = await complete(async (transaction, held) => {
          for (const { identifier } of held) await fixture.tasks.push(transaction, fixture.topic, `${identifier}, written`)
          return new Map(held.map((one: HeldTask) => [one, TaskDecision.success()]))
        })
        completed.resolve(done)
      },
    })
    await node.start()
    await fixture.push({ identifier: 'long', externalId: 'order 7' })
    await begun.promise
    await cancel('order 7')
    go.resolve()
    expect(await completed.promise).toMatchObject({ completed: [], lost: [{ identifier: 'long' }] })
    expect(await fixture.states()).toEqual({ filtered: 1 })
  })
})
