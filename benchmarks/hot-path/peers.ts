/** graphile-worker and pg-boss with the fastest settings they document, over the same backlog. */
import { Logger, makeWorkerUtils } from 'graphile-worker'
import pg from 'pg'
import { PgBoss } from 'pg-boss'
import type { Connection } from './database.ts'
import { withDatabase } from './database.ts'
import { input } from './drain.ts'
import type { Throughput } from './drain.ts'
import type { PeerOrder } from './peer-worker.ts'
import { race } from './workers.ts'

export const peers = ['graphile-worker', 'pg-boss'] as const
type Peer = (typeof peers)[number]

export function poolOf(connection: Connection, max: number): pg.Pool {
  const pool = new pg.Pool({ ...connection, max })
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/** https://timgit.github.io/pg-boss: fetch, complete and insert take batches; upkeep off, it is not what is measured. */
export async function openBoss(connection: Connection, max = 4): Promise<PgBoss> {
  const boss = new PgBoss({ ...connection, max, supervise: false, schedule: false } as ConstructorParameters<typeof PgBoss>[0] &
    object)
  boss.on('error', () => {})
  await boss.start()
  await boss.createQueue('mail')
  return boss
}

export async function measurePeer(server: Connection, peer: Peer, tasks: number): Promise<Throughput> {
  const rates = { push: 0, drain1: 0, drain2: 0, hot: Number.NaN }
  for (const processes of [1, 2] as const) {
    await withDatabase(server, async (connection) => {
      rates.push = Math.max(rates.push, await (peer === 'pg-boss' ? pushBoss : pushGraphile)(connection, tasks))
      const orders: PeerOrder[] = Array.from({ length: processes }, () => ({ connection, peer }))
      rates[`drain${processes}`] = await race('peer-worker.ts', orders, tasks)
    })
  }
  return rates
}

const batch = 1000

async function pushBoss(connection: Connection, tasks: number): Promise<number> {
  const boss = await openBoss(connection)
  const data = JSON.parse(input) as object
  const started = performance.now()
  for (let from = 0; from < tasks; from += batch)
    await boss.insert(
      'mail',
      Array.from({ length: batch }, () => ({ data })),
    )
  const rate = (tasks / (performance.now() - started)) * 1000
  await boss.stop({ graceful: false })
  return rate
}

async function pushGraphile(connection: Connection, tasks: number): Promise<number> {
  const pgPool = poolOf(connection, 2)
  const utils = await makeWorkerUtils({ pgPool, logger: new Logger(() => () => {}) })
  await utils.migrate()
  const payload: unknown = JSON.parse(input)
  const started = performance.now()
  for (let from = 0; from < tasks; from += batch) {
    await utils.addJobs(Array.from({ length: batch }, () => ({ identifier: 'mail', payload })))
  }
  const rate = (tasks / (performance.now() - started)) * 1000
  await utils.release()
  await pgPool.end()
  return rate
}
