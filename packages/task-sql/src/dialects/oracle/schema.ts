import { checkText, invalid } from '@taskstream/task-api'
import type { MigrationStep, Tables } from '../../core/dialect.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import { prettyView } from '../shared/pretty.ts'
import { indexName, unlessThere } from './definitions.ts'
import { operatorsStep } from './operators-step.ts'
import { tracesStep } from './traces-step.ts'

export interface OracleTables extends Tables {
  readonly lane: Statement
  readonly pretty: Statement
  readonly sequence: Statement
  /** A table `k` of one row, whose column `ms` is the current instant in epoch milliseconds. */
  readonly clock: Statement
}

/** @throws TaskError ARGUMENT_INVALID unless the schema's name is 1 to 30 letters, digits and underscores */
export function oracleTables(schema?: string): OracleTables {
  if (schema !== undefined) {
    checkText('schema', schema, 30)
    if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(schema)) throw invalid('schema', schema, 'must be letters, digits and underscores')
  }
  const table = (name: string): Statement => raw(schema === undefined ? name : `${schema}.${name}`)
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
    clock: table('task_clock'),
  }
}

/**
 * The steps of migrations. A step is never removed or changed. Each definition commits, and may be run again: if a migration breaks off,
 * the next one goes on. Instants are epoch milliseconds, UTC.
 *
 * Oracle indexes a row unless its whole key is null, so every index has ended tasks too. But the first columns of the keys keep them away
 * from the part that polls read.
 */
export function oracleMigrations(tables: OracleTables, partitioned: boolean): readonly MigrationStep[] {
  const { task } = tables
  // A local index is partitioned as its table is. The key of a unique one must contain the topic, by which the table is partitioned.
  const local = raw(partitioned ? ' local' : '')
  // Oracle makes the partition of each topic that has tasks, in a transaction of its own. It requires a first partition, of any topic.
  const storage = raw(partitioned ? `partition by list (topic) automatic (partition task_first values ('taskstream'))` : '')
  const index = (name: string, columns: string, prefix: number): Statement =>
    unlessThere(sql`create index ${indexName(task, name)} on ${task} (${raw(columns)}) compress ${raw(String(prefix))}${local}`)
  /** @param reasons how many reasons there were when the step was released */
  const pretty = (reasons: number): Statement =>
    prettyView(
      tables.pretty,
      task,
      (column) => `timestamp '1970-01-01 00:00:00 +00:00' + numtodsinterval(${column} / 1000, 'second')`,
      'create or replace view',
      reasons,
    )
  return [
    {
      version: 1,
      name: 'tables',
      worksFrom: 1,
      statements: [
        // With `order`, the numbers of one producer ascend even if several instances share the database.
        unlessThere(sql`create sequence ${tables.sequence} minvalue 1 maxvalue 9007199254740991 cache 1000 order`),
        unlessThere(sql`
          create table ${task} (
            topic varchar2(250 char) not null,
            sequence number(16) not null,
            identifier varchar2(500 char) not null,
            state number(1) default 1 not null,
            descent number(1) default 1 not null,
            reason number(5),
            listed number(1) default 0 not null,
            ranked number(1) default 0 not null,
            stage number(1),
            priority number(5) default 0 not null,
            urgency number(5) generated always as (-priority) virtual,
            attempt number(10) default 0 not null,
            tries number(10) default 0 not null,
            max_tries number(10),
            created number(16) not null,
            started number(16),
            completed number(16),
            due number(16),
            deadline number(16),
            owner varchar2(250 char),
            reference varchar2(500 char),
            external_id varchar2(500 char),
            headers clob,
            input clob,
            output clob,
            constraint task_key primary key (topic, sequence) using index compress 1${local}
          ) ${storage}`),
        index('task_open', 'topic, state, sequence', 2),
        index('task_listed', 'topic, listed, state, sequence', 3),
        index('task_ranked', 'topic, ranked, listed, state, urgency, sequence', 4),
        index('task_identifier', 'topic, identifier, stage, sequence', 1),
        index('task_due', 'topic, due', 1),
        // To Oracle two keys are equal if their other parts are equal and the same part is null. It leaves out only keys that are all null.
        unlessThere(sql`
          create unique index ${indexName(task, 'task_external_id')}
              on ${task} (external_id, case when external_id is not null then topic end)`),
        unlessThere(sql`
          create table ${tables.topic} (
            topic varchar2(250 char) not null,
            ordering number(5) default 0 not null,
            condition number(5) default 0 not null,
            listing number(1) default 0 not null,
            ranking number(1) default 0 not null,
            stage number(1),
            constraint task_topic_key primary key (topic)
          )`),
        unlessThere(sql`
          create table ${tables.owner} (
            owner varchar2(250 char) not null,
            name varchar2(250 char) not null,
            heartbeat number(16) not null,
            constraint task_owner_key primary key (owner)
          )`),
        unlessThere(sql`
          create table ${tables.turn} (
            topic varchar2(250 char) not null,
            turn number(16) generated always as identity (cache 1000 order),
            identifier varchar2(500 char) not null,
            constraint task_turn_key primary key (topic, turn) using index compress 1
          )`),
        unlessThere(sql`
          create table ${tables.lane} (
            topic varchar2(250 char) not null,
            lane number(5) not null,
            polled number(16) default 0 not null,
            constraint task_lane_key primary key (topic, lane) using index compress 1
          )`),
        unlessThere(sql`
          create table ${tables.activation} (
            topic varchar2(250 char) not null,
            active number(1) not null,
            changed number(16) not null,
            constraint task_activation_key primary key (topic)
          )`),
        unlessThere(sql`
          create table ${tables.periodic} (
            scope varchar2(250 char) not null,
            id varchar2(250 char) not null,
            name varchar2(250 char),
            application varchar2(250 char),
            status number(1) not null,
            note varchar2(1000 char),
            timer varchar2(1000 char) not null,
            summary varchar2(500 char),
            topic varchar2(250 char) not null,
            identifier varchar2(500 char) not null,
            input clob,
            headers clob,
            priority number(5) not null,
            max_tries number(10),
            misfire number(1) not null,
            late_ms number(16),
            overlap number(1) not null,
            jitter_ms number(16) not null,
            starts number(16),
            ends number(16),
            max_count number(16),
            fired number(16) default 0 not null,
            skipped number(16) default 0 not null,
            occurrence number(16),
            due number(16),
            last_occurrence number(16),
            last_topic varchar2(250 char),
            last_sequence number(16),
            created number(16) not null,
            changed number(16) not null,
            constraint task_periodic_key primary key (scope, id) using index compress 1
          )`),
        unlessThere(sql`create index ${indexName(task, 'task_periodic_due')} on ${tables.periodic} (due)`),
        sql`
          create or replace view ${tables.clock} as
          select extract(day from i.since) * 86400000
                 + extract(hour from i.since) * 3600000
                 + extract(minute from i.since) * 60000
                 + trunc(extract(second from i.since) * 1000) as ms
            from (select sys_extract_utc(systimestamp) - timestamp '1970-01-01 00:00:00' as since from dual) i`,
        pretty(7),
      ],
    },
    {
      version: 2,
      name: 'results and attempts',
      // Older releases write neither, and may keep running.
      worksFrom: 1,
      statements: [
        unlessThere(sql`
          create table ${tables.result} (
            topic varchar2(250 char) not null,
            sequence number(16) not null,
            value clob,
            next_topic varchar2(250 char),
            next_sequence number(16),
            constraint task_result_key primary key (topic, sequence) using index compress 1
          )`),
        unlessThere(sql`
          create table ${tables.attempt} (
            topic varchar2(250 char) not null,
            sequence number(16) not null,
            attempt number(10) not null,
            started number(16),
            ended number(16) not null,
            outcome number(1) not null,
            reason number(5),
            owner varchar2(250 char),
            error varchar2(200 char),
            message clob,
            constraint task_attempt_key primary key (topic, sequence, attempt) using index compress 1
          )`),
        unlessThere(sql`create index ${indexName(task, 'task_attempt_ended')} on ${tables.attempt} (topic, ended)`),
      ],
    },
    {
      version: 3,
      name: 'dependencies',
      // Older releases start no blocked task, and may keep running.
      worksFrom: 1,
      statements: [
        unlessThere(sql`
          create table ${tables.dependency} (
            topic varchar2(250 char) not null,
            sequence number(16) not null,
            place number(10) not null,
            need varchar2(100 char) not null,
            parent_topic varchar2(250 char) not null,
            parent number(16) not null,
            tolerant number(1) not null,
            constraint task_dependency_key primary key (topic, sequence, place) using index compress 1
          )`),
        unlessThere(
          sql`create index ${indexName(task, 'task_dependency_parent')} on ${tables.dependency} (parent_topic, parent)`,
        ),
      ],
    },
    {
      version: 4,
      name: 'limits',
      // Older releases keep no limits, and may keep running.
      worksFrom: 1,
      statements: [
        unlessThere(sql`
          create table ${tables.limit} (
            topic varchar2(250 char) not null,
            kind varchar2(20 char) not null,
            amount number(16),
            per_ms number(16),
            used number(18) default 0 not null,
            counted_at number(16),
            target varchar2(250 char),
            constraint task_limit_key primary key (topic, kind) using index compress 1
          )`),
        unlessThere(sql`
          create table ${tables.slot} (
            topic varchar2(250 char) not null,
            owner varchar2(250 char) not null,
            slots number(10) not null,
            wanted number(10) not null,
            constraint task_slot_key primary key (topic, owner) using index compress 1
          )`),
        pretty(8),
      ],
    },
    operatorsStep(tables),
    tracesStep(tables),
  ]
}

/** The table of the steps that were made. */
export function oracleMigrationTable({ migration }: OracleTables): Statement {
  return unlessThere(sql`
    create table ${migration} (
      version number(10) not null,
      name varchar2(250 char) not null,
      applied varchar2(100 char) not null,
      works_from number(10),
      constraint task_migration_key primary key (version)
    )`)
}
