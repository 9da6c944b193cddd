/** What a scenario measures, and how much of it. */
import { withDatabase } from './database.ts'
import type { Connection } from './database.ts'

export interface Scale {
  /** Tasks that are pushed one by one. */
  readonly singles: number
  /** Tasks that are pushed in batches, and drained. */
  readonly batched: number
  /** Tasks of a drain that is measured beside others of the same round. */
  readonly drained: number
  /** Tasks that taskstream drains while a snapshot is held, and while none is; its peers drain `drained`. */
  readonly beside: number
  /** Pushes whose latency is taken, in a round. */
  readonly samples: number
  /** Rows that have ended before a drain begins. */
  readonly history: number
  /** Rows that are ready while a few are polled. */
  readonly backlog: number
  /** Rows that are ready before a process whose memory is watched. */
  readonly watched: number
  /** Tasks that wait behind one of their identifier. */
  readonly blocked: number
  /** Tasks that all have one identifier. */
  readonly serial: number
  /** Tasks of a hundred thousand identifiers. */
  readonly manyIdentifiers: number
  /** Bytes of the payloads of one measurement. */
  readonly payloadBytes: number
}

/** A figure of the scenario, or several by the names of their rows. */
export type Figures = number | Readonly<Record<string, number>>

/** What a subject is measured on: made once, measured in every round. */
export interface Bench extends AsyncDisposable {
  measure(): Promise<Figures>
}

interface Setting {
  /** Throws where the scenario's engine is not PostgreSQL. */
  readonly server: Connection
  readonly scale: Scale
}

export type Prepare = (setting: Setting) => Promise<Bench>

export interface Scenario {
  readonly name: string
  readonly unit: string
  /** Which of two figures is the better one. */
  readonly better: 'higher' | 'lower'
  readonly engine: 'PostgreSQL 18' | 'SQLite'
  /** Default 3. */
  readonly rounds?: number
  /** The scenario of its group that it takes turns with, as the two are compared with each other. */
  readonly beside?: string
  /** By subject: taskstream, its peers, and what the server can do at most. */
  readonly subjects: Readonly<Record<string, Prepare>>
}

/** Scenarios by the name of their group; a group is a chart. */
export type Groups = Readonly<Record<string, readonly Scenario[]>>

/** One figure of one subject, in a database of its own. */
type Measure = (connection: Connection, scale: Scale) => Promise<Figures>

export type Measures = Readonly<Record<string, Measure>>

/** Every measurement in a fresh database. */
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

/** How many a second. */
export async function rateOf(count: number, work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return (count / (performance.now() - started)) * 1000
}
