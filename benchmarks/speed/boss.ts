/** pg-boss as it is measured. Its upkeep is off, as it is not measured. */
import { PgBoss } from 'pg-boss'
import type { ConstructorOptions } from 'pg-boss'
import { topic } from './backlog-task.ts'
import type { Connection } from './database.ts'
import { NamedClient } from './named-client.ts'

/**
 * pg-boss hands its options to its pool of connections, and so the class of clients. Names make a single push three times as fast.
 * They do nothing for fetches and completions of a thousand, whose statements are left as they are.
 */
export function bossOptions(connection: Connection, max: number, isNamed = true): ConstructorOptions {
  return { ...connection, max, supervise: false, schedule: false, ...(isNamed && { Client: NamedClient }) } as ConstructorOptions
}

/** https://timgit.github.io/pg-boss: fetch, complete and insert take batches. */
export async function openBoss(connection: Connection, max = 4): Promise<PgBoss> {
  const boss = new PgBoss(bossOptions(connection, max))
  boss.on('error', () => {})
  await boss.start()
  await boss.createQueue(topic)
  return boss
}
