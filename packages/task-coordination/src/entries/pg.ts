/** Coordination on PostgreSQL by connection settings, for programs that have no pool of their own. */
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromPg, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import pg from 'pg'
import type { CoordinationDatabase, DatabaseSettings } from '../database-settings.ts'
import { checkSettings, poolSize } from '../database-settings.ts'

/**
 * Opens a pool of its own for a group. Give what it returns to `coordinated` or `Leader`, whose stop closes the pool.
 *
 * @param settings host `localhost`, port 5432; user, password and database as the driver has them by default
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const database = postgresqlDatabase({ user: 'app', password, database: 'app' })
 * const listener = coordinated({ trigger: { intervalMs: 60_000 } }, { ...database, groupId: 'reports' })
 */
export function postgresqlDatabase(settings: DatabaseSettings = {}): CoordinationDatabase<pg.PoolClient> {
  checkSettings(settings)
  const { host = 'localhost', port = 5_432, ...login } = settings
  // A connection that is never made would take a place in the pool as long as the network is cut.
  const pool = new pg.Pool({ host, port, ...login, max: poolSize, connectionTimeoutMillis: 2_000 })
  pool.on('error', () => {})
  return {
    repository: sqlTaskRepository({ dialect: postgres(), adapter: fromPg }),
    transactions: pgTransactions<pg.PoolClient>(pool),
    close: () => pool.end(),
  }
}
