import { sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'

/** The table of the steps that were made, as the first release had it. Later steps add its other columns. */
export function migrationTable(migration: Statement): Statement {
  return sql`create table if not exists ${migration} (version integer primary key, name text not null, applied text not null)`
}
