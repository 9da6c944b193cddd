import type { MigrationStep } from '../../core/dialect.ts'
import { sql } from '../../core/statement.ts'
import { unlessAdded } from './definitions.ts'
import type { OracleTables } from './schema.ts'

/** The step of migrations that adds the traces of attempts. */
export function tracesStep(tables: OracleTables): MigrationStep {
  return {
    version: 6,
    name: 'traces',
    // Older releases note no traces, and may keep running.
    worksFrom: 1,
    statements: [unlessAdded(sql`alter table ${tables.attempt} add (trace varchar2(64 char))`)],
  }
}
