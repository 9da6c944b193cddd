import { setTimeout as delay } from 'node:timers/promises'
import { occurrenceOf } from '@taskstream/task-scheduler'
import { sql } from 'kysely'
import { defineJob, exponential } from 'taskstream'
import { openDatabase } from './database.ts'

const report = defineJob('report', {
  timer: process.env['REPORT_TIMER'] ?? '04:00 Europe/Oslo',
  retry: exponential({ tries: 10, firstMs: 60_000, maxMs: 1_800_000 }),
  timeoutMs: 600_000,
})

interface Tables {
  sales: { at: number; total: number }
  reports: { occurrence: string; total: number }
}
const { db, newStream, close } = openDatabase<Tables>()

/** Any number of processes may do this: each occurrence is pushed once. */
function worker(): ReturnType<typeof newStream> {
  const stream = newStream({ listener: {}, application: 'reports' })
  stream.handle(report, async ({ task, commit }) => {
    // The instant for which the clock has pushed this, however late it is handled. One that was run by hand has none.
    const at = occurrenceOf(task)?.at ?? new Date()
    const { total } = await db
      .selectFrom('sales')
      .select(({ fn }) => fn.sum<string | null>('total').as('total'))
      .where('at', '<', at.getTime())
      .executeTakeFirstOrThrow()
    return commit(async (tx) => {
      await tx
        .insertInto('reports')
        .values({ occurrence: at.toISOString(), total: Number(total) })
        .execute()
    })
  })
  return stream
}

await sql`create table sales (at bigint not null, total integer not null)`.execute(db)
// No primary key: an occurrence that was reported twice would be seen.
await sql`create table reports (occurrence text not null, total integer not null)`.execute(db)
await db
  .insertInto('sales')
  .values([
    { at: Date.now() - 5_000, total: 40 },
    { at: Date.now() - 4_000, total: 60 },
  ])
  .execute()

const workers = [worker(), worker()]
for (const one of workers) await one.start()
let reports: readonly Tables['reports'][] = []
while (reports.length < 3) {
  await delay(50)
  reports = await db.selectFrom('reports').selectAll().orderBy('occurrence').execute()
}
for (const one of workers) await one.stop()
const occurrences = new Set(reports.map(({ occurrence }) => occurrence))
console.log(`${reports[0]?.total} sold, ${reports.length - occurrences.size} reported twice`)
await close()
