import { sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'

/** The table that notes which steps were made, as the first release had it: what came later a step adds. */
export function migrationTable(migration: Statement): Statement {
  return sql`create table if not exists ${migration} (version integer primary key, name text not null, applied text not null)`
}
