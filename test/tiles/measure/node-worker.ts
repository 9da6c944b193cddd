/** One process that drains with a TaskNode: the product's rows, or one of the records of the tile form in their place. */
import { once } from 'node:events'
import type { Completion, HeldTask, TaskDecision } from '@taskstream/task-api'
import { eachTask, TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromPg, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import pg from 'pg'
import type { TaskRecord } from '../guards.ts'
import type { Connection } from '../scenarios/lab.ts'
import { Tiles } from '../tiles.ts'
import { nodeTopic, tileSchema } from './node-topic.ts'
import { usedBy } from './subjects.ts'
import { tileRepository } from './tile-repository.ts'

export interface NodeOrder {
  readonly connection: Connection
  readonly record: 'states' | 'outcomes of the product' | TaskRecord
  /** Tasks of a batch; undefined: a node's default. */
  readonly size?: number
}

export interface NodeReport {
  readonly tasks: number
  readonly began: number
  readonly ended: number
  readonly nodeUs: number
  readonly serverUs: number
  readonly wal: number
}

const [{ connection, record, size }] = (await once(process, 'message')) as [NodeOrder]
/** The product itself, or the tile form in its place. */
const tiled = record === 'outcomes' || record === 'exceptions' ? record : undefined
const clients = new Set<pg.PoolClient>()
const pool = new pg.Pool({
  ...connection,
  max: 10,
  // The product names its schema in each statement. The tile form has only names, and nothing replaces plans that were made while its tables were small.
  ...(tiled && { options: `-c search_path=${tileSchema} -c enable_seqscan=off -c enable_bitmapscan=off` }),
})
pool.on('connect', (client) => clients.add(client))
const rows = sqlTaskRepository({ dialect: postgres(), adapter: fromPg })
const report = { tasks: 0, ended: 0 }
const node = new TaskNode({
  repository: tiled ? tileRepository(rows, new Tiles({ record: tiled }, nodeTopic)) : rows,
  transactions: pgTransactions(pool),
  listener: {
    onComplete: ({ completion }: { completion: Completion; decisions: ReadonlyMap<HeldTask, TaskDecision> }) => {
      report.tasks += completion.completed.length
      report.ended = performance.timeOrigin + performance.now()
      process.send?.(report.tasks)
    },
  },
})
node.process(nodeTopic, { ...(size && { size }), handler: eachTask(() => {}) })
process.send?.('ready')
await once(process, 'message')
const cpu = process.cpuUsage()
const began = performance.timeOrigin + performance.now()
await node.start()
await once(process, 'message')
const { user, system } = process.cpuUsage(cpu)
await node.stop()
let [serverUs, wal] = [0, 0]
for (const client of clients) {
  const used = await usedBy(client as unknown as pg.Client)
  serverUs += used.cpuUs
  wal += used.wal
}
process.send?.({ ...report, began, nodeUs: user + system, serverUs, wal } satisfies NodeReport)
await pool.end()
process.disconnect()
