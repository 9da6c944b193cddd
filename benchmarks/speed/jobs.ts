/** Typed jobs: each is pushed in the caller's transaction, and handled by itself. */
import { defineJob, json, taskstream } from 'taskstream/pg'
import { input } from './backlog-task.ts'
import { analyze } from './backlogs.ts'
import { rateOf } from './cost.ts'
import type { Rate } from './cost.ts'
import { connect, poolOf } from './database.ts'
import type { Connection } from './database.ts'
import { drain } from './drains.ts'
import { pushSingle } from './pushes.ts'
import type { Figures, Measures, Scale } from './scenario.ts'

const mail = defineJob('mail', { input: json<{ to: string; subject: string; body: string }>() })
const payload = JSON.parse(input) as { to: string; subject: string; body: string }
/** As many jobs at a time, and connections, as the documentation of graphile-worker gives it. */
const concurrency = 24

export const jobs: Measures = {
  taskstream: async (connection, scale) => ({
    'jobs-push': await push(connection, scale.singles),
    'jobs-drain': await drainJobs(connection, 'jobs', scale.drained, false),
    'jobs-drain, each with a write': await drainJobs(connection, 'commits', scale.drained, true),
  }),
  'pg-boss': (connection, scale) => peer('pg-boss', connection, scale),
  'graphile-worker': (connection, scale) => peer('graphile-worker', connection, scale),
}

/** The peers' handlers do nothing: with a write of their own they would not write it exactly once. */
async function peer(name: string, connection: Connection, scale: Scale): Promise<Figures> {
  return {
    'jobs-drain': (await drain()[name]!(connection, { ...scale, batched: scale.drained })) as Rate,
    'jobs-push': (await pushSingle[name]!(connection, scale)) as Rate,
  }
}

async function push(connection: Connection, count: number): Promise<Rate> {
  const pool = poolOf(connection, 2)
  await using stream = taskstream(pool, { listener: {} })
  await stream.prepare(mail)
  const client = await connect(connection)
  const rate = await rateOf(connection, count, async () => {
    for (let index = 0; index < count; index++) {
      await client.query('begin')
      await stream.push(client as never, mail, payload)
      await client.query('commit')
    }
  })
  await client.end()
  await stream.stop()
  await pool.end()
  return rate
}

async function drainJobs(connection: Connection, schema: string, count: number, writes: boolean): Promise<Rate> {
  const pool = poolOf(connection, concurrency + 1)
  await pool.query('create table if not exists sent (subject text)')
  let completed = 0
  const all = Promise.withResolvers<void>()
  const stream = taskstream(pool, {
    schema,
    listener: {
      onComplete: ({ completion }) => {
        completed += completion.completed.length
        if (completed === count) all.resolve()
      },
    },
  })
  stream.handle(
    mail,
    ({ commit }) =>
      writes ? commit(async (tx) => void (await tx.query('insert into sent values ($1)', [payload.subject]))) : undefined,
    { concurrency },
  )
  await stream.prepare(mail)
  for (let from = 0; from < count; from += 1_000)
    await stream.transaction((tx) =>
      stream.pushMany(
        tx,
        mail,
        Array.from({ length: Math.min(1_000, count - from) }, () => [payload]),
      ),
    )
  await analyze(connection)
  const rate = await rateOf(connection, count, async () => {
    await stream.start()
    await all.promise
  })
  await stream.stop()
  await pool.end()
  return rate
}
