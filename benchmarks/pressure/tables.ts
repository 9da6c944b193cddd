/** What stands in the tables of a system. */
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../speed/database.ts'
import type { Connection } from '../speed/database.ts'
import type { System } from './system.ts'

export interface Effect {
  readonly job: number
  readonly pushed: number
  readonly attempt: number
  readonly done: number
}

export interface Size {
  readonly deadRows: number
  readonly bytes: number
}

/** The server's own count of dead rows, and the size with indexes. Counts reach the server's statistics a second late. */
export async function sizeOf(connection: Connection, { schema }: System): Promise<Size> {
  const [row] = await rowsOf<Size>(
    connection,
    `select coalesce(sum(n_dead_tup), 0)::int as "deadRows", coalesce(sum(pg_total_relation_size(relid)), 0)::bigint as bytes
       from pg_stat_user_tables where schemaname = $1`,
    [schema],
  )
  return row!
}

export async function effectsOf(connection: Connection): Promise<Effect[]> {
  return rowsOf(connection, 'select job, pushed, attempt, done from effect', [])
}

export async function leftIn(connection: Connection, { left }: System): Promise<number> {
  return (await rowsOf<{ count: number }>(connection, left, []))[0]!.count
}

const lookMs = 100

/** Waits until so many jobs have been done at least once. @returns whether that came about in time */
export async function untilDone(connection: Connection, ids: readonly number[], patienceMs: number): Promise<boolean> {
  const end = performance.now() + patienceMs
  for (;;) {
    const [row] = await rowsOf<{ all: boolean }>(
      connection,
      'select not exists (select from unnest($1::int[]) id where not exists (select from effect where job = id)) as all',
      [ids],
    )
    if (row!.all) return true
    if (performance.now() > end) return false
    await sleep(lookMs)
  }
}

/** Waits until so many effects are there, or for so long: the system is warm. @throws if nothing was done by then */
export async function untilWarm(connection: Connection, effects: number, patienceMs: number): Promise<void> {
  const end = performance.now() + patienceMs
  for (;;) {
    const [row] = await rowsOf<{ count: number }>(connection, 'select count(*)::int from effect', [])
    if (row!.count >= effects) return
    // A system that is slower than its load shows it in the rate before the fault.
    if (performance.now() > end && row!.count > 0) return
    if (performance.now() > end) throw new Error('No job was done before the scenario began')
    await sleep(lookMs)
  }
}

async function rowsOf<Row extends object>(connection: Connection, text: string, values: readonly unknown[]): Promise<Row[]> {
  const client = await connect(connection)
  try {
    return (await client.query<Row>(text, [...values])).rows
  } finally {
    await client.end()
  }
}
