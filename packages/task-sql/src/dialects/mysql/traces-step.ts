import type { MigrationStep } from '../../core/dialect.ts'
import type { MysqlDefinitions, MysqlTables } from './schema.ts'

/** The step of migrations that adds the traces of attempts. */
export function tracesStep(tables: MysqlTables, addColumns: MysqlDefinitions['addColumns']): MigrationStep {
  return {
    version: 7,
    name: 'traces',
    // Older releases note no traces, and may keep running.
    worksFrom: 1,
    statements: [...addColumns(tables.attempt, 'trace varchar(64)')],
  }
}
