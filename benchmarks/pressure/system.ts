/** A library under test, as the benchmark uses it: in the database, in the producer, and in a worker. */
import type { Connection } from '../speed/database.ts'

/** A job's payload. */
export interface Job {
  readonly id: number
  /** The moment of the push, in epoch milliseconds. */
  readonly pushed: number
}

/** How long a silent node of taskstream keeps its tasks. Its peers have their own settings for this. */
export interface Lease {
  readonly leaseMs: number
  readonly heartbeatIntervalMs: number
  /** Whether the worker of a place takes the tasks of the one before it as soon as it starts. */
  readonly exclusive?: boolean
}

/** The reports of a worker. */
interface WorkerReports {
  /** The library has reported an error, and goes on. */
  error(error: unknown): void
  /** The library has stopped for good, so that the process must be replaced. */
  fatal(error: unknown): void
}

export interface WorkerSettings {
  readonly lease: Lease
  readonly name: string
  /** The most jobs of a batch, where the library has batches. */
  readonly batchSize: number
}

export interface System {
  /** The schema of the library's tables. */
  readonly schema: string
  /** The table that the library reads and writes most, which readers scan. */
  readonly table: string
  /** Counts the jobs that are still to be done, or are being done, as `count`. */
  readonly left: string
  /** Makes the tables and the queue. */
  prepare(connection: Connection): Promise<void>
  /** Opens what pushes jobs: those of a call in one transaction, if it is several of them. */
  open(connection: Connection): Promise<(jobs: readonly Job[]) => Promise<unknown>>
  /** Begins to handle jobs. Resolves when the library says that it has started. `name` stays the same when a worker is replaced. */
  work(connection: Connection, reports: WorkerReports, settings: WorkerSettings): Promise<void>
}

/** The milliseconds that a handler waits before it writes, as a call of another service would take. A killed worker so holds some jobs. */
export const workMs = 60
/** The batches that a worker handles at a time. Without batches it handles as many jobs as they would have. */
export const batches = 10
/** Worker processes of a cell. */
export const workers = 2
/** From so many jobs a second on, the producer pushes those of a hundredth of a second together. */
export const groupedFrom = 1_000

/** The jobs of a batch with which the workers can handle twice so many jobs a second: three, or more if the load is high. */
export function batchSizeFor(rate: number): number {
  return Math.max(3, Math.ceil((2 * rate * workMs) / 1_000 / (workers * batches)))
}

/** Connections of a pool: one for each batch, and some for what the library does besides. */
export const poolSize = batches + 4

/** One row for each time that a job was done. No key keeps a job from being done twice, so that this is counted. */
export const effectTable = `
  create table effect (
    job integer not null, pushed double precision not null, attempt integer not null,
    done double precision not null default extract(epoch from clock_timestamp()) * 1000
  )`

/** Writes the effects of jobs. */
export const effectText = 'insert into effect (job, pushed, attempt) select * from unnest($1::int[], $2::float8[], $3::int[])'

export function effectValues(jobs: readonly (Job & { readonly attempt: number })[]): unknown[] {
  return [jobs.map(({ id }) => id), jobs.map(({ pushed }) => pushed), jobs.map(({ attempt }) => attempt)]
}
