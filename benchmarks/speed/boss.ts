/** pg-boss with the fastest settings of its documentation, on the same backlog. */
import { PgBoss } from 'pg-boss'
import type { Connection } from './database.ts'

/** https://timgit.github.io/pg-boss: fetch, complete and insert take batches. Maintenance is off, as it is not measured. */
export async function openBoss(connection: Connection, max = 4): Promise<PgBoss> {
  const boss = new PgBoss({ ...connection, max, supervise: false, schedule: false } as ConstructorParameters<typeof PgBoss>[0] &
    object)
  boss.on('error', () => {})
  await boss.start()
  await boss.createQueue('mail')
  return boss
}
