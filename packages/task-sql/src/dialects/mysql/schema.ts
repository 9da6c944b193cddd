import { checkText, invalid } from '@taskstream/task-api'
import type { MigrationStep, Tables } from '../../core/dialect.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import { prettyView } from '../shared/pretty.ts'
import { operatorsStep } from './operators-step.ts'
import { readyListStep } from './ready-list-step.ts'
import { roomStep } from './room-step.ts'
import { tracesStep } from './traces-step.ts'

/** The differences between the tables of MariaDB and of MySQL. */
export interface MysqlDefinitions {
  /** A binary collation, under which texts that differ in trailing spaces are not equal. */
  readonly collation: string
  /** Makes the sequence that numbers tasks; empty if the table numbers them itself. */
  sequence(name: Statement): readonly Statement[]
  /** The column's option by which the table numbers its rows, and the key which that option requires; both may be empty. */
  readonly number: Statement
  readonly key: Statement
  /** Adds columns and keys to a table, all or none, unless the table has them. */
  addColumns(table: Statement, ...definitions: readonly string[]): readonly Statement[]
}

export interface MysqlTables extends Tables {
  readonly lane: Statement
  readonly pretty: Statement
  readonly sequence: Statement
}

/** @throws TaskError ARGUMENT_INVALID unless the database's name is 1 to 40 letters, digits and underscores */
export function mysqlTables(database?: string): MysqlTables {
  if (database !== undefined) {
    checkText('database', database, 40)
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(database)) throw invalid('database', database, 'must be letters, digits and underscores')
  }
  const table = tableIn(database)
  return {
    task: table('task'),
    topic: table('task_topic'),
    owner: table('task_owner'),
    migration: table('task_migration'),
    turn: table('task_turn'),
    activation: table('task_activation'),
    periodic: table('task_periodic'),
    result: table('task_result'),
    attempt: table('task_attempt'),
    dependency: table('task_dependency'),
    limit: table('task_limit'),
    slot: table('task_slot'),
    node: table('task_node'),
    audit: table('task_audit'),
    lane: table('task_lane'),
    pretty: table('task_pretty'),
    sequence: table('task_sequence'),
  }
}

/** Names tables of a database, whose name has been checked, or else of the connection's database. */
export function tableIn(database: string | undefined): (name: string) => Statement {
  return (name) => raw(database === undefined ? name : `\`${database}\`.${name}`)
}

/**
 * The steps of migrations. A step is never removed or changed. Each definition commits, and may be run again: if a migration breaks off,
 * the next one goes on. Instants are epoch milliseconds, UTC.
 *
 * These servers have no partial indexes, so every index has ended tasks too. But the first columns of the keys keep them away from the part
 * that polls read.
 */
export function mysqlMigrations(
  tables: MysqlTables,
  { collation, sequence, number, key, addColumns }: MysqlDefinitions,
): readonly MigrationStep[] {
  /** @param reasons how many reasons there were when the step was released */
  const pretty = (reasons: number): Statement =>
    prettyView(
      tables.pretty,
      tables.task,
      (column) => `timestampadd(microsecond, ${column} * 1000, '1970-01-01 00:00:00.000')`,
      'create or replace view',
      reasons,
    )
  const storage = raw(`engine = InnoDB row_format = dynamic default charset = utf8mb4 collate = ${collation}`)
  return [
    {
      version: 1,
      name: 'tables',
      worksFrom: 1,
      statements: [
        ...sequence(tables.sequence),
        sql`
          create table if not exists ${tables.task} (
            topic varchar(250) not null,
            sequence bigint not null ${number},
            identifier varchar(500) not null,
            state tinyint not null default 1,
            descent tinyint not null default 1,
            reason smallint,
            listed tinyint not null default 0,
            ranked tinyint not null default 0,
            stage tinyint,
            priority smallint not null default 0,
            urgency int as (-priority) virtual,
            attempt int not null default 0,
            tries int not null default 0,
            max_tries int,
            created bigint not null,
            started bigint,
            completed bigint,
            due bigint,
            deadline bigint,
            mark bigint,
            owner varchar(250),
            reference varchar(500),
            external_id varchar(500),
            headers longtext,
            input longtext,
            output longtext,
            primary key (topic, sequence),
            ${key}
            key task_open (topic, state, sequence),
            key task_listed (topic, listed, state, sequence),
            key task_ranked (topic, ranked, listed, state, urgency, sequence),
            key task_identifier (topic, identifier, stage, sequence),
            key task_due (topic, due),
            unique key task_external_id (topic, external_id)
          ) ${storage}`,
        sql`
          create table if not exists ${tables.topic} (
            topic varchar(250) not null primary key,
            ordering smallint not null default 0,
            \`condition\` smallint not null default 0,
            listing tinyint not null default 0,
            ranking tinyint not null default 0,
            stage tinyint
          ) ${storage}`,
        sql`
          create table if not exists ${tables.owner} (
            owner varchar(250) not null primary key,
            name varchar(250) not null,
            heartbeat bigint not null
          ) ${storage}`,
        sql`
          create table if not exists ${tables.turn} (
            topic varchar(250) not null,
            turn bigint not null auto_increment,
            identifier varchar(500) not null,
            primary key (topic, turn),
            key task_turn (turn)
          ) ${storage}`,
        sql`
          create table if not exists ${tables.lane} (
            topic varchar(250) not null,
            lane int not null,
            polled bigint not null default 0,
            primary key (topic, lane)
          ) ${storage}`,
        sql`
          create table if not exists ${tables.activation} (
            topic varchar(250) not null primary key,
            active tinyint not null,
            changed bigint not null
          ) ${storage}`,
        pretty(7),
      ],
    },
    {
      version: 2,
      name: 'periodic tasks',
      // Older releases ignore this table and may keep running.
      worksFrom: 1,
      statements: [
        sql`
          create table if not exists ${tables.periodic} (
            scope varchar(250) not null,
            id varchar(250) not null,
            name varchar(250),
            application varchar(250),
            status tinyint not null,
            note text,
            timer text not null,
            summary text,
            topic varchar(250) not null,
            identifier varchar(500) not null,
            input longtext,
            headers longtext,
            priority smallint not null,
            max_tries int,
            misfire tinyint not null,
            late_ms bigint,
            overlap tinyint not null,
            jitter_ms bigint not null,
            starts bigint,
            ends bigint,
            max_count bigint,
            fired bigint not null default 0,
            skipped bigint not null default 0,
            occurrence bigint,
            due bigint,
            last_occurrence bigint,
            last_topic varchar(250),
            last_sequence bigint,
            created bigint not null,
            changed bigint not null,
            primary key (scope, id),
            key task_periodic_due (due)
          ) ${storage}`,
      ],
    },
    {
      version: 3,
      name: 'results and attempts',
      // Older releases write neither, and may keep running.
      worksFrom: 1,
      statements: [
        sql`
          create table if not exists ${tables.result} (
            topic varchar(250) not null,
            sequence bigint not null,
            value longtext,
            next_topic varchar(250),
            next_sequence bigint,
            primary key (topic, sequence)
          ) ${storage}`,
        sql`
          create table if not exists ${tables.attempt} (
            topic varchar(250) not null,
            sequence bigint not null,
            attempt int not null,
            started bigint,
            ended bigint not null,
            outcome tinyint not null,
            reason smallint,
            owner varchar(250),
            error varchar(200),
            message text,
            primary key (topic, sequence, attempt),
            key task_attempt_ended (topic, ended)
          ) ${storage}`,
      ],
    },
    {
      version: 4,
      name: 'dependencies',
      // Older releases start no blocked task, and may keep running.
      worksFrom: 1,
      statements: [
        sql`
          create table if not exists ${tables.dependency} (
            topic varchar(250) not null,
            sequence bigint not null,
            place int not null,
            need varchar(100) not null,
            parent_topic varchar(250) not null,
            parent bigint not null,
            tolerant tinyint not null,
            primary key (topic, sequence, place),
            key task_dependency_parent (parent_topic, parent)
          ) ${storage}`,
      ],
    },
    {
      version: 5,
      name: 'limits',
      // Older releases keep no limits, and may keep running.
      worksFrom: 1,
      statements: [
        sql`
          create table if not exists ${tables.limit} (
            topic varchar(250) not null,
            kind varchar(20) not null,
            amount bigint,
            per_ms bigint,
            used bigint not null default 0,
            counted_at bigint,
            target varchar(250),
            primary key (topic, kind)
          ) ${storage}`,
        sql`
          create table if not exists ${tables.slot} (
            topic varchar(250) not null,
            owner varchar(250) not null,
            slots int not null,
            wanted int not null,
            primary key (topic, owner)
          ) ${storage}`,
        pretty(8),
      ],
    },
    operatorsStep(tables, storage, addColumns),
    tracesStep(tables, addColumns),
    readyListStep(tables),
    roomStep(tables, addColumns),
  ]
}
