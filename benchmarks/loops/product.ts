/** The backlog of a repository, which a node with its default settings works off. */
import { eachTask, TaskNode } from '@taskstream/task-processor'
import type { Execution, TransactionSource } from '@taskstream/task-api'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import { input, topic } from '../speed/backlog-task.ts'
import { identifiersFrom, pushed } from './subject.ts'
import type { Backlog } from './subject.ts'

interface Database<Transaction> {
  readonly repository: SqlTaskRepository<Transaction, Execution>
  readonly transactions: TransactionSource<Transaction>
}

export async function productBacklog<Transaction>(
  { repository, transactions }: Database<Transaction>,
  close: () => Promise<void>,
): Promise<Backlog> {
  await repository.migrate(transactions)
  await transactions(async (transaction) => repository.initialize(transaction, topic))
  let running: TaskNode<Transaction> | undefined
  return {
    push: async (count) => {
      for (let from = 0; from < count; from += pushed) {
        const creations = identifiersFrom(from).map((identifier) => ({ identifier, input }))
        await transactions(async (transaction) => repository.push(transaction, topic, creations))
      }
    },
    drain: async (count, size) => {
      const all = Promise.withResolvers<void>()
      let completed = 0
      const node = new TaskNode({
        repository,
        transactions,
        listener: {
          onComplete: ({ completion }) => {
            completed += completion.completed.length
            if (completed === count) all.resolve()
          },
        },
      })
      node.process(topic, { size, handler: eachTask(() => {}) })
      running = node
      await node.start()
      await all.promise
    },
    [Symbol.asyncDispose]: async () => {
      await running?.stop()
      await close()
    },
  }
}
