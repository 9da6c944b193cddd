/** A node of all topics that is killed, stopped, paused and cut off. When it is asked to stop, it must end by itself. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TaskNotifier } from '@taskstream/task-api'
import { exponential, stopOnSignal, TaskNode } from '@taskstream/task-processor'
import type { BatchHandler } from '@taskstream/task-processor'
import { sql } from '@taskstream/task-sql'
import { openBetterSqlite3, sqliteListener } from '@taskstream/task-sql/better-sqlite3'
import { pgListener } from '@taskstream/task-sql/pg'
import pg from 'pg'
import { reopenSubject } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { randomOf, topics } from './topics.ts'
import type { WorkerOrders, WorkerReport } from './topics.ts'

const { location, seed, leaseMs } = JSON.parse(process.argv[2] ?? '{}') as WorkerOrders
const random = randomOf(seed)
const subject = await reopenSubject(location)
const database = subject.engine === 'sqlite' ? await openBetterSqlite3(location.at) : undefined
const notifier: TaskNotifier | undefined = database
  ? sqliteListener(database)
  : subject.engine === 'postgres'
    ? pgListener(() => new pg.Client({ connectionString: location.at, application_name: 'listener' }), { pingMs: 1_000 })
    : undefined
let handled = 0
let lost = 0
let stuck = 0
const errors = new Set<string>()

const handler: BatchHandler<AnyTransaction> = async (_, { complete, topic }) => {
  if (random() < 0.02) throw new Error('made up')
  for (let turns = random() * 10; turns > 1; turns--) await new Promise((resolve) => setImmediate(resolve))
  await complete(async (transaction, held) => {
    const decisions = held.map((task): [HeldTask, TaskDecision] => [
      task,
      random() < 0.05 ? TaskDecision.retry({ afterMs: Math.floor(random() * 200) }) : TaskDecision.success(),
    ])
    for (const [{ sequence, identifier, attempt }, { result }] of decisions) {
      if (result !== 'success') continue
      await subject.execute(
        transaction,
        sql`insert into effect (topic, identifier, sequence, attempt) values (${topic}, ${identifier}, ${sequence}, ${attempt})`,
      )
    }
    handled += held.length
    return new Map(decisions)
  })
}

const node = new TaskNode<AnyTransaction>({
  repository: subject.tasks(),
  transactions: subject.transactions,
  ...(notifier && { notifier }),
  heartbeatIntervalMs: leaseMs / 10,
  leaseMs,
  maintenanceIntervalMs: leaseMs / 10,
  listener: {
    onLost: ({ tasks }) => void (lost += tasks.length),
    onStuck: () => void stuck++,
    onError: ({ activity, error }) => void errors.add(`${activity}: ${error instanceof Error ? error.message : String(error)}`),
    onFatal: ({ topic, error }) => void errors.add(`fatal ${topic}: ${String(error)}`),
  },
})
for (const { name, mode, options } of topics) {
  node.process(name, {
    ...options,
    mode,
    handler,
    size: 1 + Math.floor(random() * 20),
    concurrency: mode === 'transactional' ? 1 : 2,
    ...(mode === 'transactional' ? { timeoutMs: leaseMs / 2, abortMs: leaseMs / 4 } : {}),
    retry: exponential({ tries: 1_000, firstMs: 10, maxMs: 100 }),
    idleMs: 1_000,
  })
}
await node.start()
stopOnSignal(node, {
  graceMs: 1_000,
  onStopped: ({ finished, returned, abandoned }) => {
    const counts = { finished: finished.length, returned: returned.length, abandoned: abandoned.length }
    process.send?.({ handled, lost, stuck, errors: [...errors], ...counts } satisfies WorkerReport)
    database?.close()
    void Promise.resolve(subject[Symbol.asyncDispose]()).then(() => {
      // Nothing may keep this process alive now. The crew waits for it to end, so anything that does is found as a leak.
      process.disconnect()
    })
  },
})
// The worker must not outlive the run that started it.
process.on('disconnect', () => setTimeout(() => process.exit(1), 60_000).unref())
process.send?.('started')
