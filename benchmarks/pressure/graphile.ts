/**
 * graphile-worker: its completing transaction is its own, so that effects are written before it. A local queue would make it faster, but a killed worker
 * keeps what is in it for four hours.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { topic } from '../speed/backlog-task.ts'
import { poolOf } from '../speed/database.ts'
import { peerPool } from '../speed/named-client.ts'
import { batches, effectText, effectValues, poolSize, workMs } from './system.ts'
import type { Job, System } from './system.ts'

const logger = new Logger(() => () => {})

export const graphile: System = {
  schema: 'graphile_worker',
  table: 'graphile_worker._private_jobs',
  left: 'select count(*)::int from graphile_worker._private_jobs where attempts < max_attempts',
  prepare: async (connection) => {
    const pgPool = poolOf(connection, 1)
    const utils = await makeWorkerUtils({ pgPool, logger })
    await utils.migrate()
    await utils.release()
    await pgPool.end()
  },
  open: async (connection) => {
    const utils = await makeWorkerUtils({ pgPool: peerPool(connection, 10), logger })
    return (jobs) =>
      jobs.length === 1 ? utils.addJob(topic, jobs[0]) : utils.addJobs(jobs.map((payload) => ({ identifier: topic, payload })))
  },
  work: async (connection, { error, fatal }, { batchSize }) => {
    const concurrentJobs = batches * batchSize
    const runner = await run({
      pgPool: poolOf(connection, poolSize),
      logger,
      noHandleSignals: true,
      preset: { worker: { concurrentJobs, pollInterval: 500 } },
      taskList: {
        [topic]: async (payload, { job, withPgClient }) => {
          await sleep(workMs)
          await withPgClient((client) => client.query(effectText, effectValues([{ ...(payload as Job), attempt: job.attempts }])))
        },
      },
    })
    runner.events.on('worker:getJob:error', (event) => error(event.error))
    runner.events.on('job:error', (event) => error(event.error))
    runner.promise.then(() => fatal(new Error('The runner has stopped')), fatal)
  },
}
