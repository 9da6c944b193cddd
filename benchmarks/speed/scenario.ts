/** The parts of a scenario, and the sizes that a run gives it. */
import { withDatabase } from './database.ts'
import type { Connection } from './database.ts'

export interface Scale {
  /** Tasks that are pushed one by one. */
  readonly singles: number
  /** Tasks that are pushed in batches, and drained. */
  readonly batched: number
  /** Tasks of a drain that is measured beside others of the same round. */
  readonly drained: number
  /** Tasks that taskstream drains while a snapshot is held, and while none is. Its peers drain `drained` tasks. */
  readonly beside: number
  /** Pushes in a round whose latency is measured. */
  readonly samples: number
  /** Ended rows in the table before a drain begins. */
  readonly history: number
  /** Ready rows while a few tasks are polled. */
  readonly backlog: number
  /** Ready rows for a process whose memory is measured. */
  readonly watched: number
  /** Tasks that wait for one task of their identifier. */
  readonly blocked: number
  /** Tasks that all have one identifier. */
  readonly serial: number
  /** Tasks with a hundred thousand identifiers. */
  readonly manyIdentifiers: number
  /** Bytes of all payloads of one measurement. */
  readonly payloadBytes: number
}

/** One figure of the scenario, or several by the names of their rows. */
export type Figures = number | Readonly<Record<string, number>>

/** A subject that is set up once and measured in every round. */
export interface Bench extends AsyncDisposable {
  measure(): Promise<Figures>
}

interface Setting {
  /** The server. Reading it throws if the scenario's engine is not PostgreSQL. */
  readonly server: Connection
  readonly scale: Scale
}

export type Prepare = (setting: Setting) => Promise<Bench>

export interface Scenario {
  readonly name: string
  readonly unit: string
  /** Whether the higher or the lower figure is better. */
  readonly better: 'higher' | 'lower'
  readonly engine: 'PostgreSQL 18' | 'SQLite'
  /** Default 3. */
  readonly rounds?: number
  /** A scenario of the same group with which this one takes turns, because the two are compared. */
  readonly beside?: string
  /** The subjects by name: taskstream, its peers, and the limit of the server. */
  readonly subjects: Readonly<Record<string, Prepare>>
}

/** Scenarios by the name of their group. Each group is a chart. */
export type Groups = Readonly<Record<string, readonly Scenario[]>>

/** Measures one figure of one subject in a database of its own. */
type Measure = (connection: Connection, scale: Scale) => Promise<Figures>

export type Measures = Readonly<Record<string, Measure>>

/** Sets up a fresh database for every measurement. */
export function fresh(measures: Measures): Scenario['subjects'] {
  const subjects = Object.entries(measures).map(([subject, measure]): [string, Prepare] => [
    subject,
    ({ server, scale }) =>
      Promise.resolve({
        measure: () => withDatabase(server, (connection) => measure(connection, scale)),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      }),
  ])
  return Object.fromEntries(subjects)
}

/** Returns how many were done in a second. */
export async function rateOf(count: number, work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return (count / (performance.now() - started)) * 1000
}
