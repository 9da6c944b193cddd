/** Faults that break nothing: sessions that hold a snapshot, and more load. */
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../speed/database.ts'
import type { Fault, Scene } from './fault.ts'

const readers = 4
/** The pause between two scans of a reader. */
const scanPauseMs = 100

/** A session in a transaction keeps dead rows from being removed, also in tables that it never reads. */
const idleInTransaction: Fault = async ({ connection, ms }) => {
  const holder = await connect(connection)
  await holder.query('begin isolation level repeatable read')
  await holder.query('select pg_current_xact_id()')
  await sleep(ms)
  await holder.end()
}

/** Scans the table again and again in transactions of half the time. */
async function read({ connection, table, ms }: Scene, delayMs: number): Promise<void> {
  const end = performance.now() + ms
  await sleep(delayMs)
  const reader = await connect(connection)
  while (performance.now() < end) {
    const closes = Math.min(end, performance.now() + ms / 2)
    await reader.query('begin isolation level repeatable read')
    while (performance.now() < closes) {
      await reader.query(`select count(*), max(length(each::text)) from ${table} each`)
      await sleep(scanPauseMs)
    }
    await reader.query('commit')
  }
  await reader.end()
}

/** Each reader begins a little later than the one before, so that one of them always has an old snapshot. */
const activeReaders: Fault = async (scene) => {
  const step = scene.ms / 2 / readers
  await Promise.all(Array.from({ length: readers }, (_, index) => read(scene, index * step)))
}

const more =
  (factor: number, share = 1): Fault =>
  async ({ load, ms }) => {
    load(factor)
    await sleep(ms * share)
    load(1)
    const over = Date.now()
    await sleep(ms * (1 - share))
    return over
  }

export const pressures: Readonly<Record<string, Fault>> = {
  'idle-in-transaction': idleInTransaction,
  'active-readers': activeReaders,
  'high-load': more(1.5),
  burst: more(5, 0.5),
}
