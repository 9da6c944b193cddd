/** A drain in which a tenth of the tasks fail at their first try and are retried at once, until all have succeeded. */
import { eachTask, fixed, TaskNode } from '@taskstream/task-processor'
import { pgTransactions } from '@taskstream/task-sql/pg'
import { topic } from './backlog-task.ts'
import { openBoss } from './boss.ts'
import { poolOf } from './database.ts'
import { repository } from './product.ts'
import { pushBatch } from './pushes.ts'
import { rateOf } from './scenario.ts'
import type { Measures } from './scenario.ts'

const every = 10

/** graphile-worker is missing: its retry delay is fixed at e seconds and more, so the measurement would show little else. */
export const failures: Measures = {
  taskstream: async (connection, scale) => {
    await pushBatch['taskstream']!(connection, { ...scale, batched: scale.drained })
    const pool = poolOf(connection, 4)
    const all = Promise.withResolvers<void>()
    let succeeded = 0
    const node = new TaskNode({
      repository: repository(),
      transactions: pgTransactions(pool),
      listener: {
        onComplete: ({ completion, decisions }) => {
          for (const task of completion.completed) if (decisions.get(task)?.result === 'success') succeeded++
          if (succeeded === scale.drained) all.resolve()
        },
      },
    })
    const handler = eachTask(({ sequence, tries }) => {
      if (tries === 1 && sequence % every === 0) throw new Error('once')
    })
    node.process(topic, { size: 1000, handler, retry: fixed({ tries: 2, afterMs: 0 }) })
    const rate = await rateOf(scale.drained, async () => {
      await node.start()
      await all.promise
    })
    await node.stop()
    await pool.end()
    return rate
  },
  'pg-boss': async (connection, scale) => {
    // A queue's default is two retries without delay.
    await pushBatch['pg-boss']!(connection, { ...scale, batched: scale.drained })
    const boss = await openBoss(connection)
    const failed = new Set<string>()
    const rate = await rateOf(scale.drained, async () => {
      for (let succeeded = 0, seen = 0; succeeded < scale.drained;) {
        const ids = (await boss.fetch(topic, { batchSize: 1000 })).map(({ id }) => id)
        const bad = new Set(ids.filter((id) => !failed.has(id) && seen++ % every === 0))
        for (const id of bad) failed.add(id)
        const good = ids.filter((id) => !bad.has(id))
        if (bad.size > 0) await boss.fail(topic, [...bad], new Error('once'))
        if (good.length > 0) await boss.complete(topic, good)
        succeeded += good.length
      }
    })
    await boss.stop({ graceful: false })
    return rate
  },
}
