/** What a rate has cost: processor time of the processes that push or handle and of the server, and bytes of the server's log. */
import { connect } from './database.ts'
import type { Connection } from './database.ts'
import { cpuUsOf, parentOf } from './processes.ts'

/** For each task. Null: not known on this system, or the engine has no such thing. */
export interface Cost {
  /** Microseconds of the processor in the processes that push or handle. */
  readonly processUs: number | null
  /** Microseconds of the processor in all processes of the server. */
  readonly serverUs: number | null
  /** Bytes that the server wrote into its log: what a disk and a standby have to take. */
  readonly logBytes: number | null
}

/** A rate with what it has cost. */
export class Rate {
  readonly perSecond: number
  readonly cost: Cost

  constructor(perSecond: number, cost: Cost) {
    this.perSecond = perSecond
    this.cost = cost
  }
}

type Server = Omit<Cost, 'processUs'>

/** Reads what a server has spent since it started. */
export interface Meter extends AsyncDisposable {
  read(): Promise<Server>
}

/** Meters the PostgreSQL of the connection, by a session of its own. */
export async function meterOf(connection: Connection): Promise<Meter> {
  const client = await connect(connection)
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const server = parentOf(rows[0]!.pid)
  return {
    read: async () => {
      const { rows: positions } = await client.query<{ bytes: string }>(
        `select (pg_current_wal_insert_lsn() - '0/0')::text as bytes`,
      )
      return { serverUs: server === undefined ? null : cpuUsOf(server), logBytes: Number(positions[0]!.bytes) }
    },
    [Symbol.asyncDispose]: () => client.end(),
  }
}

/** For an engine that works in the process of its user. */
const noMeter: Meter = {
  read: () => Promise.resolve({ serverUs: null, logBytes: null }),
  [Symbol.asyncDispose]: () => Promise.resolve(),
}

/** What was spent on a piece of work, all tasks together. */
export interface Spent extends Server {
  readonly ms: number
  /** Of this process. */
  readonly processUs: number
}

/** Does work between two readings of the meter. */
export async function spend(meter: Meter, work: () => Promise<unknown>): Promise<Spent> {
  const before = await meter.read()
  const used = process.cpuUsage()
  const started = performance.now()
  await work()
  const ms = performance.now() - started
  const { user, system } = process.cpuUsage(used)
  const after = await meter.read()
  return {
    ms,
    processUs: user + system,
    serverUs: minus(after.serverUs, before.serverUs),
    logBytes: minus(after.logBytes, before.logBytes),
  }
}

export function costOf(count: number, { processUs, serverUs, logBytes }: Cost): Cost {
  const each = (whole: number | null): number | null => (whole === null ? null : whole / count)
  return { processUs: each(processUs), serverUs: each(serverUs), logBytes: each(logBytes) }
}

export function addCosts(left: Cost, right: Cost): Cost {
  const add = (one: number | null, other: number | null): number | null => (one === null || other === null ? null : one + other)
  return {
    processUs: add(left.processUs, right.processUs),
    serverUs: add(left.serverUs, right.serverUs),
    logBytes: add(left.logBytes, right.logBytes),
  }
}

function minus(later: number | null, earlier: number | null): number | null {
  return later === null || earlier === null ? null : later - earlier
}

/** Does work of so many tasks in this process. @param meter null for an engine in this process */
export async function rateOf(meter: Meter | Connection | null, count: number, work: () => Promise<unknown>): Promise<Rate> {
  if (meter && !('read' in meter)) {
    await using own = await meterOf(meter)
    return await rateOf(own, count, work)
  }
  const spent = await spend(meter ?? noMeter, work)
  return new Rate((count / spent.ms) * 1000, costOf(count, spent))
}
