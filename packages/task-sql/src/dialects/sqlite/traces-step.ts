import type { MigrationStep } from '../../core/dialect.ts'
import { raw } from '../../core/statement.ts'

/** The step of migrations that adds the traces of attempts. */
export const tracesStep: MigrationStep = {
  version: 9,
  name: 'traces',
  // Older releases note no traces, and may keep running.
  worksFrom: 2,
  statements: [raw('alter table task_attempt add column trace text')],
}
