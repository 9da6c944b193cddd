/** graphile-worker as it is measured, with the settings with which it is fastest here: a local queue, and many jobs at a time. */
import { Logger, makeWorkerUtils } from 'graphile-worker'
import type { WorkerUtils } from 'graphile-worker'
import type pg from 'pg'

/** https://worker.graphile.org/docs/performance. Statements of workers are named by default. */
export const preset = {
  worker: {
    concurrentJobs: 24,
    maxPoolSize: 25,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  },
} as const

export async function graphile(pgPool: pg.Pool): Promise<WorkerUtils> {
  const utils = await makeWorkerUtils({ pgPool, logger: new Logger(() => () => {}) })
  await utils.migrate()
  return utils
}
