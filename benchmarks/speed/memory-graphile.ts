/** Drains with graphile-worker, in a process that loads no other subject. The settings are those of peer-worker.ts. */
import { Logger, run } from 'graphile-worker'
import pg from 'pg'
import { topic } from './backlog-task.ts'
import type { DrainBacklog } from './memory-worker.ts'
import { preset } from './graphile.ts'

export const drainBacklog: DrainBacklog = async (connection, expected) => {
  const pool = new pg.Pool({ ...connection, max: 25 })
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const all = Promise.withResolvers<void>()
  let handled = 0
  const runner = await run({
    pgPool: pool,
    logger: new Logger(() => () => {}),
    noHandleSignals: true,
    taskList: {
      [topic]: () => {
        if (++handled === expected) all.resolve()
      },
    },
    preset,
  })
  await all.promise
  await runner.stop()
  await pool.end()
}
