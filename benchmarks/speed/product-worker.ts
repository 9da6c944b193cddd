/** One process of taskstream, which works off a backlog with a handler that does nothing. */
import { eachTask, TaskNode } from '@taskstream/task-processor'
import { pgTransactions } from '@taskstream/task-sql/pg'
import { topic } from './backlog-task.ts'
import { poolOf } from './database.ts'
import type { Connection } from './database.ts'
import { repository } from './product.ts'
import { Progress } from './workers.ts'

interface Order {
  readonly connection: Connection
  readonly size: number
  readonly mode?: 'leased' | 'transactional'
  /** The worker ends when nothing was completed for so many milliseconds; default 500. */
  readonly silenceMs?: number
}

process.once('message', (order: Order) => {
  const pool = poolOf(order.connection, 4)
  const progress = new Progress()
  let empty: NodeJS.Timeout | undefined
  const node = new TaskNode({
    repository: repository(),
    transactions: pgTransactions(pool),
    listener: {
      onComplete: ({ completion }) => {
        progress.add(completion.completed.length)
        clearTimeout(empty)
        // Nobody pushes any more, so a silence means that the backlog is gone. The time counts up to the last completion.
        empty = setTimeout(finish, order.silenceMs ?? 500)
      },
    },
  })
  async function finish(): Promise<void> {
    await node.stop()
    await pool.end()
    process.send?.(progress)
    process.disconnect()
  }
  node.process(topic, { size: order.size, ...(order.mode && { mode: order.mode }), handler: eachTask(() => {}) })
  process.once('message', () => void node.start())
  process.send?.('ready')
})
