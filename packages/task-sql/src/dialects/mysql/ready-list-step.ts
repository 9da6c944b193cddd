import type { MigrationStep } from '../../core/dialect.ts'
import { sql } from '../../core/statement.ts'
import type { MysqlTables } from './schema.ts'

/**
 * The step of migrations that takes the state out of the indexes of the ready list. Only listed tasks are looked for in them, and a claim takes its
 * tasks off the list. So a task that is pushed, taken and completed in a plain topic stays where it is in both, instead of being moved twice.
 *
 * The urgency becomes a column that is stored. InnoDB computes a virtual one anew when it purges old versions of a row, and MariaDB may then leave entries
 * in its index that belong to no row (MDEV-38140): after a crash of a loaded server, polls by priority failed with ER_INDEX_CORRUPT until the index was
 * built anew.
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
          drop key task_ranked, drop column urgency, add column urgency int as (-priority) stored after priority,
          add key task_ranked (topic, ranked, listed, urgency, sequence)`,
    ],
  }
}
