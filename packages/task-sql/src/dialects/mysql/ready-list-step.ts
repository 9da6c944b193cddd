import type { MigrationStep } from '../../core/dialect.ts'
import { sql } from '../../core/statement.ts'
import type { MysqlTables } from './schema.ts'

/**
 * The step of migrations that takes the state out of the indexes of the ready list. Only listed tasks are looked for in them, and a claim takes its
 * tasks off the list. So a task that is pushed, taken and completed in a plain topic stays where it is in both, instead of being moved twice.
 */
export function readyListStep({ task }: MysqlTables): MigrationStep {
  return {
    version: 8,
    name: 'ready list without states',
    // Older releases name these indexes, and also find their rows in the new ones. They leave active tasks on the list, which polls then pass over.
    worksFrom: 1,
    statements: [
      sql`
        alter table ${task}
          drop key task_listed, add key task_listed (topic, listed, sequence),
          drop key task_ranked, add key task_ranked (topic, ranked, listed, urgency, sequence)`,
    ],
  }
}
