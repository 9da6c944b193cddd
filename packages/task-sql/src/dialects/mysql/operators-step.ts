import type { MigrationStep } from '../../core/dialect.ts'
import { sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { MysqlDefinitions, MysqlTables } from './schema.ts'

/** The step of migrations that adds what operators look at. */
export function operatorsStep(
  tables: MysqlTables,
  storage: Statement,
  addColumns: MysqlDefinitions['addColumns'],
): MigrationStep {
  return {
    version: 6,
    name: 'operators',
    // Older releases tell nothing of themselves, and may keep running.
    worksFrom: 1,
    statements: [
      ...addColumns(
        tables.attempt,
        'fingerprint varchar(20)',
        'release_name varchar(100)',
        'key task_attempt_fingerprint (topic, fingerprint, ended)',
      ),
      ...addColumns(tables.activation, 'actor varchar(250)', 'note varchar(500)'),
      sql`
        create table if not exists ${tables.node} (
          owner varchar(250) not null primary key,
          name varchar(250) not null,
          kind varchar(20) not null,
          host varchar(250) not null,
          pid bigint not null,
          release_name varchar(100),
          started bigint not null,
          seen bigint not null,
          lease_ms bigint not null,
          quiet tinyint not null default 0,
          topics longtext not null,
          report longtext not null
        ) ${storage}`,
      sql`
        create table if not exists ${tables.audit} (
          id varchar(20) not null primary key,
          made bigint not null,
          action varchar(20) not null,
          topic varchar(250),
          actor varchar(250),
          via varchar(20),
          undoes varchar(20),
          note varchar(500),
          amount bigint not null,
          filter longtext,
          sequences longtext,
          former longtext,
          key task_audit_made (made)
        ) ${storage}`,
    ],
  }
}
