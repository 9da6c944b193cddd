/** The program of a process of an incident: see `process.ts`. */
import { fixed, eachTask, TaskNode } from '@taskstream/task-processor'
import { PeriodicScheduler } from '@taskstream/task-scheduler'
import { openNodeSqlite } from '@taskstream/task-sql/node-sqlite'
import { reopenSubject } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import type { Orders, Told } from './process.ts'

const orders = JSON.parse(process.argv[2] ?? '{}') as Orders
let isMended = false

const tell = (told: Told['told']): void => void process.send?.({ told })
const stop = orders.role === 'reader' ? await read() : await work()
// Nobody is left who could stop it.
process.on('disconnect', () => process.exit())
process.on('message', (message) => {
  if (message === 'mend') {
    isMended = true
    tell('mended')
  } else void stop().then(() => process.exit())
})
tell('started')

/** Reads in a transaction that never ends, as a forgotten shell or a report does. */
async function read(): Promise<() => Promise<void>> {
  const database = await openNodeSqlite(orders.location.at)
  database.exec('begin')
  database.prepare('select count(*) from task').all()
  return async () => database.close()
}

async function work(): Promise<() => Promise<unknown>> {
  const { location, role, name, release, topic } = orders
  const subject = await reopenSubject(location)
  const { transactions } = subject
  const repository = subject.tasks({ owner: name, release })
  if (role === 'scheduler') {
    const scheduler = new PeriodicScheduler<AnyTransaction>({ repository, transactions })
    await scheduler.start()
    return () => scheduler.stop()
  }
  const node = new TaskNode<AnyTransaction>({
    repository,
    transactions,
    maintenanceIntervalMs: 500,
    listener: {
      onComplete: ({ decisions }) => decisions.forEach(() => tell('ended')),
      onError: () => tell('refused'),
    },
  })
  node.process(topic, {
    size: 100,
    concurrency: 1,
    idleMs: 200,
    ...(orders.retries && { retry: fixed({ tries: 1_000, afterMs: 60_000 }) }),
    handler: eachTask(() => {
      tell('took')
      return handle()
    }),
  })
  await node.start()
  return () => node.stop()
}

async function handle(): Promise<void> {
  if (isMended) return
  if (orders.hangs) await Promise.withResolvers<void>().promise
  if (orders.throws !== undefined) throw new Error(orders.throws)
}
