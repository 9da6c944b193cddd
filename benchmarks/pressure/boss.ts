/**
 * pg-boss: notified workers, whose effects are in the completing transaction. Its upkeep runs as often as it may, since only upkeep takes jobs from a dead
 * worker. Ten seconds are the shortest heartbeat.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { PgBoss } from 'pg-boss'
import type { ConstructorOptions } from 'pg-boss'
import { topic } from '../speed/backlog-task.ts'
import type { Connection } from '../speed/database.ts'
import { NamedClient } from '../speed/named-client.ts'
import { batches, effectText, effectValues, poolSize, workMs } from './system.ts'
import type { Job, System } from './system.ts'

async function start(connection: Connection, max: number, supervise: boolean, error: (error: unknown) => void): Promise<PgBoss> {
  const upkeep = { superviseIntervalSeconds: 1, monitorIntervalSeconds: 1, queueCacheIntervalSeconds: 1 }
  const boss = new PgBoss({
    ...connection,
    max,
    supervise,
    schedule: false,
    useListenNotify: true,
    ...upkeep,
    Client: NamedClient,
  } as ConstructorOptions)
  boss.on('error', error)
  await boss.start()
  return boss
}

export const boss: System = {
  schema: 'pgboss',
  table: 'pgboss.job_common',
  left: `select count(*)::int from pgboss.job where name = '${topic}' and state < 'completed'`,
  prepare: async (connection) => {
    const started = await start(connection, 2, false, () => {})
    await started.createQueue(topic, { notify: true, heartbeatSeconds: 10, retryLimit: 100 })
    await started.stop({ graceful: false })
  },
  open: async (connection) => {
    const started = await start(connection, 10, false, () => {})
    return (jobs) =>
      jobs.length === 1
        ? started.send(topic, jobs[0]!)
        : started.insert(
            topic,
            jobs.map((data) => ({ data })),
          )
  },
  work: async (connection, { error }, { batchSize }) => {
    const started = await start(connection, poolSize, true, error)
    const options = {
      batchSize,
      localConcurrency: batches,
      pollingIntervalSeconds: 0.5,
      notifyPollingIntervalSeconds: 1,
      burstWhenBatchFull: true,
      transactional: true,
      includeMetadata: true,
    } as const
    await started.work<Job, void, typeof options>(topic, options, async (jobs, transaction) => {
      await sleep(workMs)
      const done = jobs.map(({ data, retryCount }) => ({ ...data, attempt: retryCount + 1 }))
      await transaction.executeSql(effectText, effectValues(done))
    })
  },
}
