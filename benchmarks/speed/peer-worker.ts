/** One process of a peer, which works off a backlog with a handler that does nothing. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { openBoss } from './boss.ts'
import { connect, poolOf } from './database.ts'
import type { Connection } from './database.ts'
import { preset } from './graphile.ts'
import { Progress } from './workers.ts'
import type { Report } from './workers.ts'

export interface PeerOrder {
  readonly connection: Connection
  readonly peer: 'graphile-worker' | 'pg-boss'
}

process.once('message', (order: PeerOrder) => void prepare(order))

async function prepare(order: PeerOrder): Promise<void> {
  const drain = order.peer === 'pg-boss' ? await prepareBoss(order.connection) : await prepareGraphile(order.connection)
  process.once('message', async () => {
    // The process ends only when the report has been sent.
    process.send?.(await drain(), undefined, undefined, () => process.exit())
  })
  process.send?.('ready')
}

type Drain = () => Promise<Report>

async function prepareBoss(connection: Connection): Promise<Drain> {
  const boss = await openBoss(connection)
  return async () => {
    const progress = new Progress()
    for (;;) {
      const jobs = await boss.fetch('mail', { batchSize: 1000 })
      if (jobs.length === 0) break
      await boss.complete(
        'mail',
        jobs.map((job) => job.id),
      )
      progress.add(jobs.length)
    }
    await boss.stop({ graceful: false })
    return progress
  }
}

/** https://worker.graphile.org/docs/performance: 24 jobs at once, a local queue of 500, completions in batches. */
async function prepareGraphile(connection: Connection): Promise<Drain> {
  const logger = new Logger(() => () => {})
  const watcher = await connect(connection)
  const utils = await makeWorkerUtils({ pgPool: poolOf(connection, 1), logger })
  return async () => {
    const progress = new Progress()
    const runner = await run({
      pgPool: poolOf(connection, 25),
      logger,
      noHandleSignals: true,
      taskList: {
        mail: () => progress.add(1),
      },
      preset,
    })
    for (;;) {
      const { rows } = await watcher.query<{ left: boolean }>('select exists (select from graphile_worker._private_jobs) as left')
      if (!rows[0]?.left) break
      await sleep(20)
    }
    await runner.stop()
    await utils.release()
    return progress
  }
}
