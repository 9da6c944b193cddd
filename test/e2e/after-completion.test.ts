/** Nothing that a handler does after it has completed its batch changes what was written, or costs a task a try. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { fixed } from '@taskstream/task-processor'
import type { HandlerContext } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

const succeed = (tasks: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
  new Map(tasks.map((task) => [task, TaskDecision.success()]))

type Context = HandlerContext<AnyTransaction>
const ways = [
  ['decisions', ({ complete }: Context, batch: readonly HeldTask[]) => complete(succeed(batch))],
  ['a function', ({ complete }: Context) => complete((_, held) => succeed(held))],
] as const

describe.skipIf(!canRun)('a batch that its handler has completed', () => {
  const fixture = useNodeFixture('completed')

  describe.each(['leased', 'transactional'] as const)('in %s mode', (mode) => {
    test.each(ways)('stays so when the handler throws afterwards, which is told once (%s)', async (_, complete) => {
      await fixture.push('a', 'b', 'c')
      const told: unknown[] = []
      const returned: string[] = []
      const completions: string[][] = []
      const repository = Object.create(fixture.tasks) as Tasks
      repository.complete = ((
        transaction: AnyTransaction,
        topic: string,
        decisions: Map<HeldTask, TaskDecision>,
        more: never,
      ) => {
        completions.push([...decisions.keys()].map(({ identifier }) => identifier))
        return fixture.tasks.complete(transaction, topic, decisions, more)
      }) as unknown as Tasks['complete']
      await using node = fixture.nodeOf({
        repository,
        listener: {
          onError: ({ activity, tasks = [], error }) =>
            void told.push([activity, tasks.map(({ identifier }) => identifier), (error as Error).message]),
          onReturned: ({ tasks }) => void returned.push(...tasks.map(({ identifier }) => identifier)),
        },
      })
      node.process(fixture.topic, {
        mode,
        size: 1,
        concurrency: 1,
        retry: fixed({ tries: 3, afterMs: 0 }),
        handler: async (batch, context) => {
          const { completed } = await complete(context, batch)
          throw new Error(`after ${completed.length}`)
        },
      })
      await node.start()
      await expect.poll(fixture.states).toEqual({ succeeded: 3 })
      await expect.poll(() => told.length).toBe(3)
      expect(told).toEqual(['a', 'b', 'c'].map((each) => ['handle', [each], 'after 1']))
      expect([completions, returned]).toEqual([[['a'], ['b'], ['c']], []])
      for (const task of await fixture.page()) {
        expect(task).toMatchObject({ state: 'succeeded', attempt: 1, tries: 1 })
        expect(task.output).toBeUndefined()
      }
    })
  })

  test.each(ways)('stays so when the handler returns other decisions afterwards (%s)', async (_, complete) => {
    await fixture.push('a')
    await using node = fixture.nodeOf()
    let calls = 0
    node.process(fixture.topic, {
      handler: async (batch, context) => {
        calls++
        await complete(context, batch)
        return new Map(batch.map((task) => [task, TaskDecision.failure('changed its mind')]))
      },
    })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: 1 })
    expect((await node.stop()).abandoned).toEqual([])
    expect([calls, await fixture.states()]).toEqual([1, { succeeded: 1 }])
  })
})
