/** One scenario of one system: some seconds without the fault, some with it, and some after it, under one load. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { PostgresServer } from '../../test/databases/postgres-server.ts'
import { connect, openDatabase } from '../speed/database.ts'
import type { Fault } from './fault.ts'
import { Fleet } from './fleet.ts'
import { outcomeOf } from './outcome.ts'
import type { Outcome } from './outcome.ts'
import { Producer } from './producer.ts'
import type { Produced } from './producer-worker.ts'
import { batchSizeFor, effectTable, groupedFrom, workers } from './system.ts'
import type { Lease } from './system.ts'
import { loadSystem } from './systems.ts'
import type { SystemName } from './systems.ts'
import { effectsOf, leftIn, sizeOf, untilDone, untilWarm } from './tables.ts'
import type { Size } from './tables.ts'

export interface Plan {
  readonly scenario: string
  readonly fault: Fault
  readonly system: SystemName
  readonly lease: Lease
  /** Milliseconds of a phase. */
  readonly ms: number
  /** Jobs a second. */
  readonly rate: number
  /** How long the last jobs may take after the load has ended. */
  readonly settleMs: number
}

export interface Cell extends Outcome, Omit<Produced, 'accepted'> {
  readonly scenario: string
  readonly system: SystemName
  readonly lease: Lease
  readonly accepted: number
  /** Acknowledged jobs that are neither done nor in the queue. */
  readonly lost: number
  /** Acknowledged jobs that were still in the queue when the time to settle was up. */
  readonly left: number
  /** Milliseconds from the end of the load until every acknowledged job was done. Null: they were not. */
  readonly settledMs: number | null
  readonly startsMs: readonly number[]
  readonly exits: readonly string[]
  readonly workerErrors: Readonly<Record<string, number>>
  /** At the end of the fault, while its sessions still stood, and when all was done. */
  readonly sizeUnderFault: Size
  readonly size: Size
}

const warmMs = 30_000
/** Sizes under a fault are taken a moment before it ends. */
const sampledAt = 0.9

export async function measureCell(server: PostgresServer, plan: Plan): Promise<Cell> {
  const { scenario, system: name, lease, ms, rate } = plan
  const system = await loadSystem(name)
  await using opened = new AsyncDisposableStack()
  const { connection } = opened.use(await openDatabase(server.connection))
  const client = await connect(connection)
  await client.query(effectTable)
  await client.end()
  await system.prepare(connection)
  const control = await connect(server.connection)
  opened.defer(() => control.end().catch(() => {}))
  const fleet = opened.use(new Fleet({ system: name, connection, lease, batchSize: batchSizeFor(rate) }))
  await Promise.all(Array.from({ length: workers }, (_, place) => fleet.start(place)))
  const producer = opened.use(new Producer())
  await producer.open(name, connection, rate >= groupedFrom)
  producer.rate(rate)
  await untilWarm(connection, 2 * rate, warmMs)

  const before = Date.now()
  await sleep(ms)
  const fault = Date.now()
  const sampler = sleep(ms * sampledAt).then(() => sizeNow())
  const load = (factor: number): void => producer.rate(rate * factor)
  const lifted = await plan.fault({ server, connection, control, fleet, table: system.table, ms, load })
  const sampled = await sampler
  const after = Date.now()
  await sleep(ms)
  const end = Date.now()

  const { accepted, refused, errors } = await producer.stop()
  const settling = performance.now()
  const isSettled = await untilDone(
    connection,
    accepted.map(([id]) => id),
    plan.settleMs,
  )
  const settledMs = isSettled ? performance.now() - settling : null
  const queued = await leftIn(connection, system)
  const outcome = outcomeOf({ before, fault, lifted: lifted ?? after, after, end }, accepted, await effectsOf(connection))
  const size = await sizeOf(connection, system)
  return {
    scenario,
    system: name,
    lease,
    ...outcome,
    accepted: accepted.length,
    refused,
    errors,
    // A refused push may have put its job into the queue, where it is counted too.
    left: Math.min(outcome.missing, queued),
    lost: Math.max(0, outcome.missing - queued),
    settledMs,
    startsMs: fleet.startsMs,
    exits: fleet.exits,
    workerErrors: fleet.errors,
    sizeUnderFault: sampled ?? size,
    size,
  }

  /** There may be no connection to be had, and then the size at the end has to do. */
  async function sizeNow(): Promise<Size | undefined> {
    return sizeOf(connection, system).catch(() => undefined)
  }
}
