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
const pauseMs = 20
/** In so many looks, one after the other, no system had a session, and foreign clients were refused more. */
const quietLooks = 5

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

const taker = 'taker'

/** Foreign clients that take connections until the server has none left, and again whenever one comes free. */
class Takers {
  readonly #taken: pg.Client[] = []
  /** Whether the server has refused the last connection. */
  isFull = false

  async takeAll({ connection, ms }: Scene): Promise<void> {
    const end = performance.now() + ms
    const take = async (): Promise<void> => {
      while (performance.now() < end) {
        try {
          this.#taken.push(await connect({ ...connection, application_name: taker } as Scene['connection']))
          this.isFull = false
        } catch {
          this.isFull = true
          await sleep(pauseMs)
        }
      }
    }
    await Promise.all(Array.from({ length: takers }, take))
    await Promise.all(this.#taken.map((client) => client.end()))
  }
}

const endSessions = `
  select pg_terminate_backend(pid) from pg_stat_activity
   where datname = $1 and backend_type = 'client backend' and application_name <> '${taker}'`

/** Ends the systems' sessions until foreign clients have every connection: a system that keeps its connections notices nothing. */
const starve: Fault = async (scene) => {
  const foreign = new Takers()
  const taking = foreign.takeAll(scene)
  const end = performance.now() + scene.ms
  for (let quiet = 0; quiet < quietLooks && performance.now() < end; await sleep(pauseMs)) {
    const { rowCount } = await scene.control.query(endSessions, [scene.connection.database])
    quiet = rowCount === 0 && foreign.isFull ? quiet + 1 : 0
  }
  await taking
}

export const chaos: Readonly<Record<string, Fault>> = {
  restart,
  'backend-kills': backendKills,
  'worker-kills': workerKills,
  'crash-recovery': crashRecovery,
  'pool-exhaustion': (scene) => new Takers().takeAll(scene),
  starvation: starve,
}
