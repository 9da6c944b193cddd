import type { MigrationStep } from '../../core/dialect.ts'
import { sql } from '../../core/statement.ts'
import type { PostgresTables } from './tables.ts'

/** The step of migrations that adds the traces of attempts. */
export function tracesStep(tables: PostgresTables): MigrationStep {
  return {
    version: 10,
    name: 'traces',
    // Older releases note no traces, and may keep running.
    worksFrom: 2,
    statements: [sql`alter table ${tables.attempt} add column trace varchar(64) collate "C"`],
  }
}
