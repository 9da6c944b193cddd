/** Coordination on MySQL or MariaDB by connection settings, for programs that have no pool of their own. */
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromMysql2, mariadb, mysql, mysql2Transactions } from '@taskstream/task-sql/mysql2'
import { createPool } from 'mysql2/promise'
import type { PoolConnection } from 'mysql2/promise'
import { checkSettings, poolSize } from '../database-settings.ts'
import type { CoordinationDatabase, DatabaseSettings } from '../database-settings.ts'

/**
 * Opens a pool of its own for a group. Give what it returns to `coordinated` or `Leader`, whose stop closes the pool.
 *
 * @param settings host `localhost`, port 3306; user, password and database as the driver has them by default
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const database = mysqlDatabase({ user: 'app', password, database: 'app' })
 * const listener = coordinated({ trigger: { intervalMs: 60_000 } }, { ...database, groupId: 'reports' })
 */
export function mysqlDatabase(settings: DatabaseSettings = {}): CoordinationDatabase<PoolConnection> {
  return databaseOf(settings, mysql())
}

/** As `mysqlDatabase`, on MariaDB. */
export function mariadbDatabase(settings: DatabaseSettings = {}): CoordinationDatabase<PoolConnection> {
  return databaseOf(settings, mariadb())
}

function databaseOf(settings: DatabaseSettings, dialect: ReturnType<typeof mysql>): CoordinationDatabase<PoolConnection> {
  checkSettings(settings)
  const { host = 'localhost', port = 3_306, ...login } = settings
  const pool = createPool({ host, port, ...login, connectionLimit: poolSize, connectTimeout: 2_000 })
  return {
    repository: sqlTaskRepository({ dialect, adapter: fromMysql2 }),
    transactions: mysql2Transactions(pool),
    close: () => pool.end(),
  }
}
