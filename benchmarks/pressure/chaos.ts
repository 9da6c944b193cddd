/** Faults of the server and of processes. */
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { connect } from '../speed/database.ts'
import type { Fault, Scene } from './fault.ts'

/** The pause between two kills of sessions: two a second. */
const backendKillMs = 500
/** The pause between two kills of a worker. */
const workerKillMs = 2_000
/** How long there is no worker before all of them are started again. */
const withoutWorkersMs = 1_000

/** For which part of the time the server is down, when it is restarted. */
const down = 0.5
/** How many foreign clients connect at the same moment. */
const takers = 10

async function until(endMs: number): Promise<void> {
  await sleep(Math.max(0, endMs - performance.now()))
}

const restart: Fault = async ({ server, ms }) => {
  const end = performance.now() + ms
  await server.crash('SIGQUIT', () => sleep(ms * down))
  const back = Date.now()
  await until(end)
  return back
}

/** Ends every session that is at work or in a transaction, and one more by chance: sessions are idle most of the time. */
const killSessions = `
  with other as (
    select pid, state from pg_stat_activity
     where datname = $1 and backend_type = 'client backend' and pid <> pg_backend_pid()
  )
  select pg_terminate_backend(pid) from other where state <> 'idle'
  union all (select pg_terminate_backend(pid) from other where state = 'idle' order by random() limit 1)`

const backendKills: Fault = async ({ control, connection, ms }) => {
  const end = performance.now() + ms
  while (performance.now() < end) {
    await control.query(killSessions, [connection.database])
    await until(Math.min(end, performance.now() + backendKillMs))
  }
}

const workerKills: Fault = async ({ fleet, ms }) => {
  const end = performance.now() + ms
  while (performance.now() < end) {
    const next = Math.min(end, performance.now() + workerKillMs)
    await fleet.kill(0)
    await fleet.start(0)
    await until(next)
  }
}

const crashRecovery: Fault = async ({ fleet, ms }) => {
  const end = performance.now() + ms
  const places = Array.from({ length: fleet.size }, (_, place) => place)
  await Promise.all(places.map((place) => fleet.kill(place)))
  await sleep(withoutWorkersMs)
  const begun = Date.now()
  await Promise.all(places.map((place) => fleet.start(place)))
  await until(end)
  return begun
}

/** Takes connections until the server has none left, and again whenever one comes free. */
async function takeConnections({ connection, ms }: Scene): Promise<void> {
  const end = performance.now() + ms
  const taken: pg.Client[] = []
  const take = async (): Promise<void> => {
    while (performance.now() < end) {
      try {
        taken.push(await connect({ ...connection, application_name: taker } as Scene['connection']))
      } catch {
        await sleep(20)
      }
    }
  }
  await Promise.all(Array.from({ length: takers }, take))
  await Promise.all(taken.map((client) => client.end()))
}

const taker = 'taker'

const endSessions = `
  select pg_terminate_backend(pid) from pg_stat_activity
   where datname = $1 and backend_type = 'client backend' and application_name <> '${taker}'`

/** Ends the systems' sessions until foreign clients have every connection: a system that keeps its connections would notice nothing. */
const starve: Fault = async (scene) => {
  const { control, connection, ms } = scene
  const taking = takeConnections(scene)
  const end = performance.now() + ms
  while (performance.now() < end) {
    const { rowCount } = await control.query(endSessions, [connection.database])
    if (rowCount === 0) break
    await sleep(20)
  }
  await taking
}

export const chaos: Readonly<Record<string, Fault>> = {
  restart,
  'backend-kills': backendKills,
  'worker-kills': workerKills,
  'crash-recovery': crashRecovery,
  'pool-exhaustion': takeConnections,
  starvation: starve,
}
