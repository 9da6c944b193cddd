/** Drains with pg-boss. */
import { setTimeout as sleep } from 'node:timers/promises'
import { PgBoss } from 'pg-boss'
import { bossOptions } from './boss.ts'
import { atOnce, failing, sideBySide, topicsOf, waitMs, writtenText } from './drain-order.ts'
import type { Doing, Drain, DrainOrder, OpenDrain } from './drain-order.ts'
import { countingClient, peerPool } from './named-client.ts'

/** One loop fetches while the other completes. A third one gained nothing. */
const loops = 2
/** A loop that finds nothing looks again after so many milliseconds: jobs that failed are soon to be tried again. */
const emptyMs = 5

export const open: OpenDrain = (order, done) =>
  order.settings === 'default' ? openDefault(order, done) : openFastest(order, done)

/** https://timgit.github.io/pg-boss: fetch and complete take batches. `work` does the same with pauses between short batches. */
const openFastest: OpenDrain = async (order, done) => {
  const { connection, does = 'nothing', size = 1000 } = order
  const boss = new PgBoss(bossOptions(connection, 10, false))
  boss.on('error', () => {})
  await boss.start()
  const topics = topicsOf(order)
  const pool = peerPool(connection, loops)
  const failed = new Set<string>()
  const fails = failing()
  const stopping = new AbortController()
  let turn = 0

  async function handle(topic: string): Promise<number> {
    const jobs = await boss.fetch(topic, { batchSize: size })
    if (jobs.length === 0) return 0
    const ids = jobs.map(({ id }) => id)
    if (does === 'write') await writeAndComplete(topic, ids)
    else if (does === 'fail' || does === 'fail once') return failSome(topic, ids, does)
    else {
      if (does === 'wait') await sideBySide(jobs, atOnce / loops, () => sleep(waitMs))
      await boss.complete(topic, ids)
    }
    done(ids.length)
    return ids.length
  }

  /** Every call of pg-boss takes the caller's connection, and so its transaction. */
  async function writeAndComplete(topic: string, ids: string[]): Promise<void> {
    const client = await pool.connect()
    await client.query('begin')
    for (let job = 0; job < ids.length; job++) await client.query(writtenText)
    await boss.complete(topic, ids, undefined, { db: { executeSql: (text, values) => client.query(text, values) } })
    await client.query('commit')
    client.release()
  }

  async function failSome(topic: string, ids: readonly string[], how: Doing): Promise<number> {
    const bad = ids.filter((id) => !failed.has(id) && fails())
    if (how === 'fail once') for (const id of bad) failed.add(id)
    const lost = new Set(bad)
    const good = ids.filter((id) => !lost.has(id))
    if (bad.length > 0) await boss.fail(topic, bad, new Error(how))
    if (good.length > 0) await boss.complete(topic, good)
    done(how === 'fail' ? ids.length : good.length)
    return ids.length
  }

  async function loop(): Promise<void> {
    for (let empty = 0; !stopping.signal.aborted;) {
      const found = await handle(topics[turn++ % topics.length]!)
      empty = found > 0 ? 0 : empty + 1
      if (empty >= topics.length) await sleep(emptyMs)
    }
  }

  let running: Promise<unknown> = Promise.resolve()
  return {
    start: () => Promise.resolve((running = Promise.all(Array.from({ length: loops }, loop)))),
    stop: async () => {
      stopping.abort()
      await running
      await boss.stop({ graceful: false })
      await pool.end()
    },
  } satisfies Drain
}

/** `work` with a handler, and nothing else. Its statements are counted when they are stored, as it has no event for that. */
const openDefault: OpenDrain = async ({ connection, ...order }: DrainOrder, done) => {
  const Client = countingClient({
    isNamed: false,
    count: ({ text }, { rows }) =>
      /\bcompleted_on = /i.test(text) && rows?.[0] ? Number((rows[0] as { count?: string }).count ?? 0) : 0,
    done,
  })
  const boss = new PgBoss({ ...connection, Client } as ConstructorParameters<typeof PgBoss>[0] & object)
  boss.on('error', () => {})
  await boss.start()
  return {
    start: async () => {
      for (const topic of topicsOf(order)) await boss.work(topic, () => Promise.resolve())
    },
    stop: () => boss.stop({ graceful: false }),
  }
}
