/** Small batches that are completed together share a transaction, and nothing else. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { testTasks } from '@taskstream/task-testing'
import { expect, test } from 'vitest'
import { Dispatcher } from '../../packages/task-processor/src/core/dispatcher.ts'
import { SharedCompletions } from '../../packages/task-processor/src/batches/shared-completions.ts'

test('what is completed together is completed in the context of whoever made the topic run, and each caller goes on in its own', async () => {
  await using tasks = await testTasks({ topics: ['mail'] })
  await tasks.push('mail', ...'abcdef')
  const held = await tasks.transactions<HeldTask[]>((transaction) => tasks.repository.poll(transaction, 'mail', { size: 6 }))
  const storage = new AsyncLocalStorage<string>()
  const seen: unknown[] = []
  const repository = Object.create(tasks.repository) as typeof tasks.repository
  repository.complete = (...args) => {
    seen.push([args[2] instanceof Map && args[2].size, storage.getStore()])
    return tasks.repository.complete(...args)
  }
  const dispatcher = new Dispatcher({ repository, transactions: tasks.transactions, statementTimeoutMs: 30_000 })
  const environment = { repository, dispatcher, topic: 'mail' }
  const shared = storage.run('topic', () => new SharedCompletions(environment))
  const outcomes = await Promise.all(
    held.map((task) =>
      storage.run(task.identifier, async () => {
        const decisions = new Map([[task, TaskDecision.success()]])
        const alone = async (): Promise<void> => {
          await dispatcher.once((transaction) => repository.complete(transaction, 'mail', decisions))
        }
        const completion = await shared.complete(decisions, false, alone)
        return [storage.getStore(), completion?.completed]
      }),
    ),
  )
  expect(seen).toEqual([
    [1, 'a'],
    [1, 'b'],
    [4, 'topic'],
  ])
  expect(outcomes).toEqual(held.map((task, index) => [task.identifier, index < 2 ? undefined : [task]]))
  dispatcher.rest()
})
