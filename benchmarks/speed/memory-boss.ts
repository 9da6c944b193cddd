/** Drains with pg-boss, in a process that loads no other subject. */
import { PgBoss } from 'pg-boss'
import type { ConstructorOptions } from 'pg-boss'
import { topic } from './backlog-task.ts'
import type { DrainBacklog } from './memory-worker.ts'

export const drainBacklog: DrainBacklog = async (connection, expected) => {
  const boss = new PgBoss({ ...connection, max: 4, supervise: false, schedule: false } as ConstructorOptions)
  boss.on('error', () => {})
  await boss.start()
  for (let completed = 0; completed < expected;) {
    const ids = (await boss.fetch(topic, { batchSize: 1000 })).map(({ id }) => id)
    if (ids.length === 0) throw new Error(`pg-boss finished ${completed} of ${expected} tasks`)
    await boss.complete(topic, ids)
    completed += ids.length
  }
  await boss.stop({ graceful: false })
}
