/** A node of the topic. Its handler writes an effect for each task, in the transaction that completes it. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { exponential, TaskNode } from '@taskstream/task-processor'
import { sql } from '@taskstream/task-sql'
import { fromMysql2 } from '@taskstream/task-sql/mysql2'
import type { Mysql2Connection } from '@taskstream/task-sql/mysql2'
import { fromPg } from '@taskstream/task-sql/pg'
import type { PgClient } from '@taskstream/task-sql/pg'
import type { Statement } from '@taskstream/task-sql'
import type { AnyTransaction } from '../../subject.ts'
import { topic } from '../orders.ts'
import { beActor, openApplication, tell, tellError } from './application.ts'

const stopping = { graceMs: 5_000, abortMs: 2_000, leaveMs: 10_000 }

await beActor(async ({ access, statementTimeoutMs, answerMs }) => {
  const { tasks, transactions, notifier, close } = openApplication(access, answerMs)
  const execute = (transaction: AnyTransaction, statement: Statement): Promise<unknown> =>
    access.engine === 'mariadb'
      ? fromMysql2.execute(transaction as Mysql2Connection, statement)
      : fromPg.execute(transaction as PgClient, statement)
  const node = new TaskNode<AnyTransaction>({
    repository: tasks,
    transactions,
    ...(notifier && { notifier }),
    statementTimeoutMs,
    listener: {
      onComplete: ({ completion }) => tell({ tells: 'completed', keys: keysOf(completion.completed), at: Date.now() }),
      onError: ({ activity, error }) => tellError(activity, error),
    },
  })
  node.process(topic, {
    size: 10,
    concurrency: 2,
    idleMs: 1_000,
    // mysql2 has no limit for an answer, so the topic has.
    ...(access.engine === 'mariadb' && { timeoutMs: answerMs }),
    retry: exponential({ tries: 1_000, firstMs: 10, maxMs: 200 }),
    handler: async (batch, { complete }) => {
      tell({ tells: 'handling', keys: keysOf(batch) })
      await complete(async (transaction, held) => {
        for (const task of held)
          await execute(transaction, sql`insert into availability_effect (task_key) values (${task.identifier})`)
        return new Map(held.map((task) => [task, TaskDecision.success()]))
      })
    },
  })
  await node.start()
  return {
    rest: async () => {},
    stop: async () => {
      await node.stop(stopping)
      await close()
    },
  }
})

function keysOf(tasks: Iterable<HeldTask>): readonly string[] {
  return [...tasks].map(({ identifier }) => identifier)
}
