/** Drains with taskstream. */
import { setTimeout as sleep } from 'node:timers/promises'
import { TaskDecision } from '@taskstream/task-api'
import { eachTask, fixed, TaskNode } from '@taskstream/task-processor'
import type { BatchHandler } from '@taskstream/task-processor'
import { pgTransactions } from '@taskstream/task-sql/pg'
import type pg from 'pg'
import { poolOf } from './database.ts'
import { atOnce, failing, failsEvery, topicsOf, waitMs, writtenText } from './drain-order.ts'
import type { DrainOrder, OpenDrain } from './drain-order.ts'
import { repository } from './product.ts'

/** Batches that are handled at a time, by default. */
const batches = 2

/** Writes in the transaction that completes the tasks. */
const write: BatchHandler<pg.PoolClient> = async (_, { complete }) => {
  await complete(async (transaction, held) => {
    for (let task = 0; task < held.length; task++) await transaction.query(writtenText)
    return new Map(held.map((task) => [task, TaskDecision.success()]))
  })
}

function handlerOf({ does = 'nothing' }: DrainOrder): BatchHandler<pg.PoolClient> {
  if (does === 'write') return write
  if (does === 'wait') return eachTask(() => sleep(waitMs), { concurrency: atOnce / batches })
  const fails = failing()
  if (does === 'fail')
    return eachTask(() => {
      if (fails()) throw new Error('for good')
    })
  if (does === 'fail once')
    return eachTask(({ sequence, tries }) => {
      if (tries === 1 && sequence % failsEvery === 0) throw new Error('once')
    })
  return eachTask(() => {})
}

export const open: OpenDrain = (order, done) => {
  const { connection, settings, does, mode, size = 1000 } = order
  const pool = poolOf(connection, 10)
  const node = new TaskNode({
    repository: repository(),
    transactions: pgTransactions(pool),
    listener: {
      onComplete: ({ completion, decisions }) => {
        if (does !== 'fail once') return done(completion.completed.length)
        done(completion.completed.filter((task) => decisions.get(task)?.result === 'success').length)
      },
    },
  })
  const handler = handlerOf(order)
  const retry = does === 'fail once' ? { retry: fixed({ tries: 2, afterMs: 0 }) } : {}
  for (const topic of topicsOf(order))
    node.process(topic, settings === 'default' ? { handler } : { size, ...(mode && { mode }), ...retry, handler })
  return Promise.resolve({
    start: () => node.start(),
    stop: async () => {
      await node.stop()
      await pool.end()
    },
  })
}
