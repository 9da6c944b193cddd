import type { MigrationStep } from '../../../core/dialect.ts'
import { raw, sql } from '../../../core/statement.ts'
import type { PostgresTables } from '../tables.ts'
import { blockFunctions } from './blocks.ts'
import { rangeStates } from './range-states.ts'
import { takeFunction } from './take-function.ts'

/** The step of migrations that adds topics that keep outcomes. No topic is one until it is initialised so. */
export function rangesStep(tables: PostgresTables): MigrationStep {
  const { range } = tables
  return {
    version: 12,
    name: 'ranges',
    // Older releases do not know the ordering of these topics: they take nothing from them, and what they push there is listed.
    worksFrom: 2,
    statements: [
      sql`
        create table ${range} (
          lo bigint not null,
          hi bigint not null,
          leased timestamptz,
          mark xid8,
          given integer not null,
          state smallint not null,
          topic varchar(250) collate "C" not null,
          owner varchar(250) collate "C",
          primary key (topic, lo)
        ) with (fillfactor = 50)`,
      sql`create index task_range_active on ${range} (topic, lo) where state = ${rangeStates.active}`,
      sql`create index task_range_missing on ${range} (topic, lo) where state = ${rangeStates.missing}`,
      ...blockFunctions(tables),
      takeFunction(tables),
      raw(`revoke execute on function ${tables.schema}.task_blocks_open(text, bigint) from public`),
      raw(`revoke execute on function ${tables.schema}.task_blocks_close(text) from public`),
      raw(`revoke execute on function ${tables.schema}.task_blocks_draw(text, integer) from public`),
    ],
  }
}
