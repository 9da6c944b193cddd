import type { MigrationStep } from '../../core/dialect.ts'
import type { MysqlDefinitions, MysqlTables } from './schema.ts'

/** How many bytes a push reserves: for the owner and the start that a poll writes, then for the end and the mark that a completion writes. */
const roomBytes = 96

/** How many of them a poll leaves to the completion. */
export const leftBytes = 20

/**
 * The step of migrations that reserves room in a new row for what is written to it later. InnoDB moves a row that has grown, and reorganizes or splits
 * its page, as pushes fill pages. A row that gives up as many bytes as it gets stays within its old place.
 */
export function roomStep({ task }: MysqlTables, addColumns: MysqlDefinitions['addColumns']): MigrationStep {
  return {
    version: 9,
    name: 'room',
    // Older releases push with the default, and leave the room as it is.
    worksFrom: 1,
    statements: [...addColumns(task, `room varbinary(${roomBytes}) default 0x${'2e'.repeat(roomBytes)}`)],
  }
}
