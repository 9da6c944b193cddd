/** pg-boss with the fastest settings that its documentation names, over the same backlog. */
import { PgBoss } from 'pg-boss'
import type { Connection } from './database.ts'

/** https://timgit.github.io/pg-boss: fetch, complete and insert take batches; upkeep off, it is not what is measured. */
export async function openBoss(connection: Connection, max = 4): Promise<PgBoss> {
  const boss = new PgBoss({ ...connection, max, supervise: false, schedule: false } as ConstructorParameters<typeof PgBoss>[0] &
    object)
  boss.on('error', () => {})
  await boss.start()
  await boss.createQueue('mail')
  return boss
}
