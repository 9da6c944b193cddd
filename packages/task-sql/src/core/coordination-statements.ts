import type { Statement } from './statement.ts'

/** What an engine says about the tables of coordination, whose names and columns are those of another library. */
export interface CoordinationStatements {
  readonly tokenHolder: Statement
  readonly healthCheck: Statement
  /**
   * Selects for each of the two tables that is there: `resolution`, the milliseconds between two heartbeats that differ; `id_length`, how long an id may be;
   * `is_keyed`, whether it has a key.
   */
  readonly found: Statement
  readonly create: readonly Statement[]
  /** The current instant as heartbeats are stored. */
  readonly now: Statement
  /** A heartbeat as a text, which depends on no setting of the session. */
  textOf(heartbeat: Statement): Statement
  /** Statements by which the server ends a connection that idles in its transaction for so long. */
  limitIdle(idleMs: number): readonly Statement[]
}
