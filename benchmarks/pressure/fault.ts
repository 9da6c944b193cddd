/** What a scenario does to the server, the workers or the load while the producer pushes. */
import type pg from 'pg'
import type { PostgresServer } from '../../test/databases/postgres-server.ts'
import type { Connection } from '../speed/database.ts'
import type { Fleet } from './fleet.ts'

export interface Scene {
  readonly server: PostgresServer
  /** The database of the system. */
  readonly connection: Connection
  /** A session in another database, which was open before the fault. */
  readonly control: pg.Client
  readonly fleet: Fleet
  /** The table that the system reads and writes most. */
  readonly table: string
  /** How long the fault lasts. */
  readonly ms: number
  /** Multiplies the load from now on. */
  load(factor: number): void
}

/** Does the damage for `ms`. @returns when the last damage was over, in epoch milliseconds, if that was before the end */
export type Fault = (scene: Scene) => Promise<number | void>
