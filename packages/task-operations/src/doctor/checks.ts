import type { CheckName } from '../core/thresholds.ts'
import type { Check } from './check.ts'
import { checksEverywhere, checksOfServers } from './checks-everywhere.ts'
import { checksOfMysql, checksOfPostgres, checksOfSqlite } from './checks-of-engines.ts'

/** The texts of every check. */
export const checks: Readonly<Record<CheckName, Check>> = {
  ...checksEverywhere,
  ...checksOfServers,
  ...checksOfPostgres,
  ...checksOfMysql,
  ...checksOfSqlite,
}
