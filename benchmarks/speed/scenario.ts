/** The parts of a scenario, and the sizes that a run gives it. */
import type { RedisServer } from '../../test/redis.ts'
import type { Rate } from './cost.ts'
import { withDatabase } from './database.ts'
import type { Connection } from './database.ts'
import type { Scale } from './scales.ts'

export type { Scale } from './scales.ts'

type Figure = number | Rate

/** One figure of the scenario, or several by the names of their rows. */
export type Figures = Figure | Readonly<Record<string, Figure>>

/** A subject that is set up once and measured in every round. */
export interface Bench extends AsyncDisposable {
  measure(): Promise<Figures>
}

export interface Setting {
  /** The server. Reading it throws if the scenario's engine is not PostgreSQL. */
  readonly server: Connection
  readonly scale: Scale
  /** A Redis with an append-only file that is flushed each second, or without one. It is started when it is first asked for. */
  redis(isLogged: boolean): Promise<RedisServer>
}

export type Prepare = (setting: Setting) => Promise<Bench>

export interface Scenario {
  readonly name: string
  readonly unit: string
  /** Whether the higher or the lower figure is better. */
  readonly better: 'higher' | 'lower'
  readonly engine: 'PostgreSQL 18' | 'SQLite' | 'MariaDB'
  /** The scenario is measured once: it takes long, or a second round would find nothing. */
  readonly once?: boolean
  /** The part of the run's time that it may take, relative to others. Default 1. */
  readonly weight?: number
  /** A quick run leaves it out. */
  readonly isLong?: boolean
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
