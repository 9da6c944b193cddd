import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { defineJob, json } from 'taskstream'
import type { Stream } from 'taskstream'
import { openDatabase } from './database.ts'

const thumbnail = defineJob('thumbnail', { input: json<{ photo: number }>(), timeoutMs: 5_000 })

interface Tables {
  thumbnails: { photo: number }
}
const { db, newStream, close } = openDatabase<Tables>()

/** A stream that was stopped is not started again, so each invocation has one. They share the pool of the instance. */
function worker(): Stream<typeof db> {
  const stream = newStream({ listener: {}, leaseMs: 15_000, heartbeatIntervalMs: 3_000, migrate: false })
  stream.handle(
    thumbnail,
    async ({ input, commit, signal }) => {
      await delay(5, undefined, { signal })
      return commit(async (tx) => void (await tx.insertInto('thumbnails').values(input).execute()))
    },
    { concurrency: 2 },
  )
  return stream
}

/** Handles what there is, for `budgetMs` at most. What is under way then has three more seconds. */
const run = (budgetMs: number): Promise<'done' | 'more'> =>
  worker().runFor(budgetMs, { graceMs: 1_500, abortMs: 500, leaveMs: 1_000 })

/** The handler of the platform: its own clock, or a web hook, calls it every minute. */
export const GET = async (): Promise<Response> => Response.json({ outcome: await run(20_000) })

// When you deploy, and not in an invocation: the tables.
const deploying = newStream({ listener: {} })
await deploying.prepare(thumbnail)
await sql`create table thumbnails (photo integer not null)`.execute(db)

await deploying.transaction((tx) =>
  deploying.pushMany(
    tx,
    thumbnail,
    Array.from({ length: 300 }, (_, photo) => [{ photo }]),
  ),
)
console.log(await run(300))
console.log(await (await GET()).text())
const { photos, thumbnails } = await db
  .selectFrom('thumbnails')
  .select(({ fn }) => [fn.count<string>('photo').distinct().as('photos'), fn.countAll<string>().as('thumbnails')])
  .executeTakeFirstOrThrow()
console.log(`${photos} photos, ${thumbnails} thumbnails`)
await close()
