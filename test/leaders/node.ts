/** A node of a group. While it leads, it commits one line after the other, each with its term. */
import { setTimeout as delay } from 'node:timers/promises'
import type { TransactionSource } from '@taskstream/task-api'
import { Leader } from '@taskstream/task-coordination'
import type { CoordinatedRepository, Leadership } from '@taskstream/task-coordination'
import { sql } from '@taskstream/task-sql'
import { pgTransactions } from '@taskstream/task-sql/pg'
import pg from 'pg'
import { reopenSubject } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import type { NodeMessage, NodeOrders } from './orders.ts'

const { location, ...group } = JSON.parse(process.argv[2] ?? '{}') as NodeOrders
// The process must not outlive its laboratory.
process.on('disconnect', () => process.exit())
const subject = await reopenSubject(location)
// A pool whose connections are made without a time limit is full of those that are never made, as long as the network is cut.
const transactions =
  subject.engine === 'postgres'
    ? (pgTransactions(
        new pg.Pool({ connectionString: location.at, connectionTimeoutMillis: 500 }),
      ) as TransactionSource<AnyTransaction>)
    : subject.transactions
let isToStand = false

const leader = new Leader<AnyTransaction>({
  repository: subject.tasks() as unknown as CoordinatedRepository<AnyTransaction>,
  transactions,
  ...group,
  createTables: false,
  // A database that is away is what the laboratory is about.
  listener: { onError: () => {} },
})
process.on('message', (message: NodeMessage) => {
  if (message === 'stand still inside') isToStand = true
  else void leader.stop().then(() => process.exit())
})

// A node may start while the database is away.
while (!(await isStarted())) await delay(100)
await leader.run(lead).catch(() => {})

async function isStarted(): Promise<boolean> {
  return leader.start().then(
    () => true,
    () => false,
  )
}

async function lead({ term, signal, check, transaction }: Leadership<AnyTransaction>): Promise<never> {
  const write = (within: AnyTransaction): Promise<unknown> | unknown =>
    subject.execute(
      within,
      sql`insert into leader_commit (group_id, task_id, term) values (${group.groupId}, ${group.taskId}, ${term})`,
    )
  while (!signal.aborted) {
    await transaction(async (within) => {
      await write(within)
      if (!isToStand) return
      isToStand = false
      // From here on nobody can take over, until the server ends this connection.
      await check(within)
      process.kill(process.pid, 'SIGSTOP')
    }).catch(() => delay(10))
    await delay(5)
  }
  throw signal.reason
}
