/**
 * A worker of the demo: one process with one node and the audit's handler. It tells its parent when it holds tasks, and waits for
 * an answer.
 */
import { once } from 'node:events'
import { TaskDecision } from '@taskstream/task-api'
import { TaskNode } from '@taskstream/task-processor'
import { sql } from '@taskstream/task-sql'
import { openDatabase } from './database.ts'
import type { Location } from './database.ts'
import { auditPackage } from './packages.ts'

/** A worker reports how many tasks it holds, or how many of its completions took effect and how many were refused. */
export type WorkerMessage = { readonly holds: number } | { readonly completed: number; readonly refused: number }

const say = (message: WorkerMessage): void => void process.send?.(message)
const database = await openDatabase(JSON.parse(process.argv[2] ?? '') as Location)

const node = new TaskNode({
  repository: database.tasks,
  transactions: database.transactions,
  notifier: database.notifier,
  // These are short, so that the demo does not wait long for a dead worker's tasks.
  heartbeatIntervalMs: 300,
  leaseMs: 1_500,
  maintenanceIntervalMs: 300,
  listener: {
    onComplete: ({ completion }) => say({ completed: completion.completed.length, refused: completion.lost.length }),
    onError: ({ activity, error }) => console.error(`worker ${process.pid}: ${activity} failed:`, error),
  },
})

node.process('audit', {
  size: 16,
  concurrency: 1,
  handler: async (batch, { complete }) => {
    say({ holds: batch.length })
    // The parent may answer that this worker has to sleep.
    const [word] = (await once(process, 'message')) as [string]
    if (word === 'sleep') process.kill(process.pid, 'SIGSTOP')
    const audits = new Map<number, Awaited<ReturnType<typeof auditPackage>>>()
    for (const { sequence, input = '' } of batch) audits.set(sequence, await auditPackage(input))
    // One transaction writes the audit of the tasks that are still held, and completes them.
    await complete(async (transaction, held) => {
      for (const { sequence, identifier, attempt } of held) {
        const { licence, files, bytes, hash } = audits.get(sequence)!
        await database.execute(
          transaction,
          sql`insert into ${database.audit} (package, licence, files, bytes, hash, attempt)
              values (${identifier}, ${licence}, ${files}, ${bytes}, ${hash}, ${attempt})`,
        )
      }
      return new Map(held.map((task) => [task, TaskDecision.success()]))
    })
  },
})

await node.start()
// A worker does not outlive the demo.
process.on('disconnect', () => process.exit())
process.on('message', (message) => {
  if (message === 'stop')
    void node
      .stop()
      .then(() => database[Symbol.asyncDispose]())
      .then(() => process.disconnect())
})
