import type { MigrationStep } from '../../core/dialect.ts'
import { sql } from '../../core/statement.ts'
import { indexName, unlessAdded, unlessThere } from './definitions.ts'
import type { OracleTables } from './schema.ts'

/** The step of migrations that adds what operators look at. */
export function operatorsStep(tables: OracleTables): MigrationStep {
  return {
    version: 5,
    name: 'operators',
    // Older releases tell nothing of themselves, and may keep running.
    worksFrom: 1,
    statements: [
      unlessAdded(sql`alter table ${tables.attempt} add (fingerprint varchar2(20 char), release_name varchar2(100 char))`),
      unlessThere(
        sql`create index ${indexName(tables.task, 'task_attempt_fingerprint')} on ${tables.attempt} (topic, fingerprint, ended)`,
      ),
      unlessAdded(sql`alter table ${tables.activation} add (actor varchar2(250 char), note varchar2(500 char))`),
      unlessThere(sql`
        create table ${tables.node} (
          owner varchar2(250 char) not null,
          name varchar2(250 char) not null,
          kind varchar2(20 char) not null,
          host varchar2(250 char) not null,
          pid number(16) not null,
          release_name varchar2(100 char),
          started number(16) not null,
          seen number(16) not null,
          lease_ms number(16) not null,
          quiet number(1) default 0 not null,
          topics clob not null,
          report clob not null,
          constraint task_node_key primary key (owner)
        )`),
      unlessThere(sql`
        create table ${tables.audit} (
          id varchar2(20 char) not null,
          made number(16) not null,
          action varchar2(20 char) not null,
          topic varchar2(250 char),
          actor varchar2(250 char),
          via varchar2(20 char),
          undoes varchar2(20 char),
          note varchar2(500 char),
          amount number(16) not null,
          filter clob,
          sequences clob,
          former clob,
          constraint task_audit_key primary key (id)
        )`),
      unlessThere(sql`create index ${indexName(tables.task, 'task_audit_made')} on ${tables.audit} (made)`),
    ],
  }
}
