/** The drivers of the engine that this process tests. */
import { nodeSqliteDrivers, sqliteDrivers } from './sqlite.ts'
import { libsqlDrivers } from './libsql.ts'
import { mysqlDrivers } from './mysql.ts'
import { pgliteDrivers } from './pglite.ts'
import { postgresDrivers } from './postgres.ts'
import type { Driver } from './driver.ts'
import { subjectName } from '../subject.ts'

const driversOf: Readonly<Record<string, readonly Driver[]>> = {
  'postgres-18': postgresDrivers,
  'postgres-given': postgresDrivers,
  'postgres-15': postgresDrivers,
  pglite: pgliteDrivers,
  pgbouncer: postgresDrivers,
  'node-sqlite': nodeSqliteDrivers,
  libsql: libsqlDrivers,
  mariadb: mysqlDrivers,
  mysql: mysqlDrivers,
}

export const drivers: readonly Driver[] = driversOf[subjectName] ?? sqliteDrivers
