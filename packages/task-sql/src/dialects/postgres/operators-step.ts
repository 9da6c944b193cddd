import type { MigrationStep } from '../../core/dialect.ts'
import { sql } from '../../core/statement.ts'
import type { PostgresTables } from './tables.ts'

/** The step of migrations that adds what operators look at. */
export function operatorsStep(tables: PostgresTables): MigrationStep {
  return {
    version: 9,
    name: 'operators',
    // Older releases tell nothing of themselves, and may keep running.
    worksFrom: 2,
    statements: [
      sql`
        alter table ${tables.attempt}
          add column fingerprint varchar(20) collate "C",
          add column release_name varchar(100) collate "C"`,
      sql`create index task_attempt_fingerprint on ${tables.attempt} (topic, fingerprint, ended) where fingerprint is not null`,
      sql`
        alter table ${tables.activation}
          add column actor varchar(250),
          add column note varchar(500)`,
      sql`
        create table ${tables.node} (
          started timestamptz not null,
          seen timestamptz not null,
          pid bigint not null,
          lease_ms bigint not null,
          quiet smallint not null default 0,
          owner varchar(250) collate "C" primary key,
          name varchar(250) collate "C" not null,
          kind varchar(20) collate "C" not null,
          host varchar(250) collate "C" not null,
          release_name varchar(100) collate "C",
          topics text not null,
          report text not null
        ) with (fillfactor = 50)`,
      sql`
        create table ${tables.audit} (
          made timestamptz not null,
          amount bigint not null,
          id varchar(20) collate "C" primary key,
          action varchar(20) collate "C" not null,
          topic varchar(250) collate "C",
          actor varchar(250),
          via varchar(20) collate "C",
          undoes varchar(20) collate "C",
          note varchar(500),
          filter text,
          sequences text,
          former text
        )`,
      sql`create index task_audit_made on ${tables.audit} (made)`,
    ],
  }
}
