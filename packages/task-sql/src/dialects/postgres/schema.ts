import type { MigrationStep } from '../../core/dialect.ts'
import type { PostgresTables } from './tables.ts'
import { operatorsStep } from './operators-step.ts'
import { rangesStep } from './ranges/ranges-step.ts'
import { singularStep } from './singular-step.ts'
import { tracesStep } from './traces-step.ts'
import { raw, sql } from '../../core/statement.ts'
import { attachAsOwner, attachFunction, leafStorage } from './partitions.ts'
import { prettyView } from '../shared/pretty.ts'

/**
 * The steps of migrations. A step is never removed or changed. Fixed-width columns come first, so that no space is lost to alignment. No
 * index has the state, so that polls and completions are HOT updates, and a page has room for three versions of a row
 * (docs/decisions/hot-path.md).
 */
export function postgresMigrations(tables: PostgresTables): readonly MigrationStep[] {
  const { task, partitioned } = tables
  // A partitioned table has no storage itself: its partitions have.
  const storage = partitioned ? raw('partition by list (topic)') : raw(`with (${leafStorage})`)
  return [
    {
      version: 1,
      name: 'tables',
      worksFrom: 1,
      statements: [
        sql`create sequence ${tables.sequence} as bigint minvalue 1 cache 1`,
        sql`
          create table ${task} (
            sequence bigint not null default nextval('${tables.sequence}'::regclass),
            created timestamptz not null default statement_timestamp(),
            started timestamptz,
            completed timestamptz,
            due timestamptz,
            deadline timestamptz,
            attempt integer not null default 0,
            tries integer not null default 0,
            max_tries integer,
            state smallint not null default 1 check (state between 0 and 8),
            descent smallint not null default 1 check (descent between 1 and 6),
            priority smallint not null default 0,
            reason smallint,
            listed boolean not null default false,
            topic varchar(250) collate "C" not null,
            identifier varchar(500) collate "C" not null,
            owner varchar(250) collate "C",
            reference varchar(500) collate "C",
            external_id varchar(500) collate "C",
            headers json,
            input text,
            output text,
            primary key (topic, sequence)
          ) ${storage}`,
        sql`create index task_listed on ${task} (topic, sequence) where listed`,
        sql`create index task_due on ${task} (topic, due) where due is not null`,
        sql`create unique index task_external_id on ${task} (topic, external_id) where external_id is not null`,
        sql`
          create table ${tables.topic} (
            topic varchar(250) collate "C" primary key,
            floor bigint not null default 0,
            generation bigint not null default floor(random() * 9007199254740991)::bigint
          ) with (fillfactor = 20)`,
        sql`
          create table ${tables.owner} (
            owner varchar(250) collate "C" primary key,
            name varchar(250) collate "C" not null,
            heartbeat timestamptz not null default statement_timestamp()
          ) with (fillfactor = 20)`,
        sql`
          create table ${tables.holding} (
            chunk bigint not null,
            topic varchar(250) collate "C" not null,
            owner varchar(250) collate "C" not null
          )`,
        sql`create index task_holding_topic on ${tables.holding} (topic, owner, chunk)`,
      ],
    },
    {
      version: 2,
      name: 'orders, conditions, keys',
      // Older code does not know conditions. It would break them when it pushes into a topic that has one.
      worksFrom: 2,
      statements: [
        sql`alter table ${tables.migration} add column works_from integer`,
        sql`
          alter table ${tables.topic}
            add column ordering smallint not null default 0,
            add column condition smallint not null default 0,
            add column listing boolean not null default false,
            add column ranking boolean not null default false,
            add column stage smallint`,
        sql`
          alter table ${task}
            add column ranked boolean not null default false,
            add column stage smallint`,
        sql`create index task_ranked on ${task} (topic, priority desc, sequence) where listed and ranked`,
        sql`create index task_identifier on ${task} (topic, identifier, stage, sequence) where stage is not null`,
        // Because of `coalesce`, a search for the open rows of one identifier does not use this index.
        sql`create index task_open on ${task} (topic, sequence) where coalesce(stage = 1, false)`,
        sql`create index task_created on ${task} using brin (created) with (autosummarize = on)`,
        sql`
          create table ${tables.lane} (
            topic varchar(250) collate "C" not null,
            lane integer not null,
            primary key (topic, lane)
          ) with (fillfactor = 70)`,
        sql`create sequence ${tables.turnSequence} as bigint minvalue 1 cache 1`,
        sql`
          create table ${tables.turn} (
            turn bigint not null default nextval('${tables.turnSequence}'::regclass),
            topic varchar(250) collate "C" not null,
            identifier varchar(500) collate "C" not null,
            primary key (topic, turn)
          ) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000)`,
        attachFunction(tables),
        prettyView(tables.pretty, task, (column) => column, 'create view', 7),
      ],
    },
    {
      version: 3,
      name: 'activation',
      // Older code ignores activations, and goes on processing its topics.
      worksFrom: 2,
      statements: [
        sql`
          create table ${tables.activation} (
            topic varchar(250) collate "C" primary key,
            active boolean not null,
            changed timestamptz not null
          )`,
      ],
    },
    {
      version: 4,
      name: 'periodic tasks',
      // Older releases ignore this table and may keep running.
      worksFrom: 2,
      statements: [
        sql`
          create table ${tables.periodic} (
            created timestamptz not null,
            changed timestamptz not null,
            occurrence timestamptz,
            due timestamptz,
            starts timestamptz,
            ends timestamptz,
            last_occurrence timestamptz,
            last_sequence bigint,
            fired bigint not null default 0,
            skipped bigint not null default 0,
            max_count bigint,
            late_ms bigint,
            jitter_ms bigint not null,
            max_tries integer,
            priority smallint not null,
            status smallint not null,
            misfire smallint not null,
            overlap smallint not null,
            scope varchar(250) collate "C" not null,
            id varchar(250) collate "C" not null,
            name varchar(250) collate "C",
            application varchar(250) collate "C",
            topic varchar(250) collate "C" not null,
            last_topic varchar(250) collate "C",
            identifier varchar(500) collate "C" not null,
            timer text not null,
            summary text,
            note text,
            headers json,
            input text,
            primary key (scope, id)
          ) with (fillfactor = 70)`,
        sql`create index task_periodic_due on ${tables.periodic} (due) where due is not null`,
      ],
    },
    {
      version: 5,
      name: 'partitions by the owner',
      // Older code calls the same function.
      worksFrom: 2,
      statements: attachAsOwner(tables),
    },
    {
      version: 6,
      name: 'results and attempts',
      // Older releases write neither, and may keep running.
      worksFrom: 2,
      statements: [
        sql`
          create table ${tables.result} (
            sequence bigint not null,
            next_sequence bigint,
            topic varchar(250) collate "C" not null,
            next_topic varchar(250) collate "C",
            value text,
            primary key (topic, sequence)
          )`,
        sql`
          create table ${tables.attempt} (
            sequence bigint not null,
            started timestamptz,
            ended timestamptz not null,
            attempt integer not null,
            outcome smallint not null,
            reason smallint,
            topic varchar(250) collate "C" not null,
            owner varchar(250) collate "C",
            error varchar(200),
            message text,
            primary key (topic, sequence, attempt)
          )`,
        sql`create index task_attempt_ended on ${tables.attempt} (topic, ended)`,
      ],
    },
    {
      version: 7,
      name: 'dependencies',
      // Older releases start no blocked task, and may keep running.
      worksFrom: 2,
      statements: [
        sql`
          create table ${tables.dependency} (
            sequence bigint not null,
            parent bigint not null,
            place integer not null,
            tolerant smallint not null,
            topic varchar(250) collate "C" not null,
            parent_topic varchar(250) collate "C" not null,
            need varchar(100) collate "C" not null,
            primary key (topic, sequence, place)
          )`,
        sql`create index task_dependency_parent on ${tables.dependency} (parent_topic, parent)`,
      ],
    },
    {
      version: 8,
      name: 'limits',
      // Older releases keep no limits, and may keep running.
      worksFrom: 2,
      statements: [
        sql`
          create table ${tables.limit} (
            amount bigint,
            per_ms bigint,
            used bigint not null default 0,
            counted_at bigint,
            topic varchar(250) collate "C" not null,
            kind varchar(20) collate "C" not null,
            target varchar(250) collate "C",
            primary key (topic, kind)
          ) with (fillfactor = 50)`,
        sql`
          create table ${tables.slot} (
            slots integer not null,
            wanted integer not null,
            topic varchar(250) collate "C" not null,
            owner varchar(250) collate "C" not null,
            primary key (topic, owner)
          ) with (fillfactor = 50)`,
        prettyView(tables.pretty, task, (column) => column, 'create or replace view', 8),
      ],
    },
    operatorsStep(tables),
    tracesStep(tables),
    singularStep(tables),
    rangesStep(tables),
  ]
}
