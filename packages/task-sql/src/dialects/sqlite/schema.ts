import type { MigrationStep } from '../../core/dialect.ts'
import { raw } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import { prettyView } from '../shared/pretty.ts'
import { operatorsStep } from './operators-step.ts'
import { tracesStep } from './traces-step.ts'

/** @param reasons how many reasons there were when the step was released */
const pretty = (reasons: number): Statement =>
  prettyView(
    raw('task_pretty'),
    raw('task'),
    (column) => `strftime('%Y-%m-%dT%H:%M:%fZ', ${column} / 1000.0, 'unixepoch')`,
    'create view',
    reasons,
  )

/** The steps of migrations. A step is never removed or changed. Instants are epoch milliseconds, UTC. */
export const sqliteMigrations: readonly MigrationStep[] = [
  {
    version: 1,
    name: 'tables',
    worksFrom: 1,
    statements: [
      raw(`
        create table task (
          sequence integer primary key autoincrement,
          topic text not null,
          identifier text not null,
          state integer not null default 1 check (state between 0 and 8),
          descent integer not null default 1 check (descent between 1 and 6),
          reason integer,
          listed integer not null default 0,
          owner text,
          attempt integer not null default 0,
          tries integer not null default 0,
          max_tries integer,
          priority integer not null default 0,
          created integer not null,
          started integer,
          completed integer,
          due integer,
          deadline integer,
          reference text,
          external_id text,
          headers text,
          input text,
          output text
        ) strict`),
      // The index has ready and active rows only: polls read the ready ones in order, expiry reads the active ones, and ended tasks
      // slow down neither.
      raw('create index task_open on task (topic, state, sequence) where state <= 1'),
      raw('create index task_topic_sequence on task (topic, sequence)'),
      raw('create index task_due on task (topic, due) where due is not null'),
      raw('create unique index task_external_id on task (topic, external_id) where external_id is not null'),
      raw('create table task_topic (topic text primary key) strict, without rowid'),
      raw(
        'create table task_owner (owner text primary key, name text not null, heartbeat integer not null) strict, without rowid',
      ),
    ],
  },
  {
    version: 2,
    name: 'orders, conditions, keys',
    // Older code does not know conditions. It would break them when it pushes into a topic that has one.
    worksFrom: 2,
    statements: [
      raw('alter table task_migration add column works_from integer'),
      raw('alter table task_topic add column ordering integer not null default 0'),
      raw('alter table task_topic add column condition integer not null default 0'),
      raw('alter table task_topic add column listing integer not null default 0'),
      raw('alter table task_topic add column ranking integer not null default 0'),
      raw('alter table task_topic add column stage integer'),
      raw('alter table task add column ranked integer not null default 0'),
      raw('alter table task add column stage integer'),
      raw('create index task_listed on task (topic, sequence) where listed = 1 and state = 1'),
      raw('create index task_ranked on task (topic, priority desc, sequence) where listed = 1 and state = 1 and ranked = 1'),
      raw('create index task_identifier on task (topic, identifier, stage, sequence) where stage is not null'),
      raw(
        'create table task_turn (turn integer primary key autoincrement, topic text not null, identifier text not null) strict',
      ),
      raw('create index task_turn_topic on task_turn (topic, turn)'),
      pretty(7),
    ],
  },
  {
    version: 3,
    name: 'activation',
    // Older code ignores activations, and goes on processing its topics.
    worksFrom: 2,
    statements: [
      raw(
        'create table task_activation (topic text primary key, active integer not null, changed integer not null) strict, without rowid',
      ),
    ],
  },
  {
    version: 4,
    name: 'periodic tasks',
    // Older releases ignore this table and may keep running.
    worksFrom: 2,
    statements: [
      raw(`
        create table task_periodic (
          scope text not null,
          id text not null,
          name text,
          application text,
          status integer not null,
          note text,
          timer text not null,
          summary text,
          topic text not null,
          identifier text not null,
          input text,
          headers text,
          priority integer not null,
          max_tries integer,
          misfire integer not null,
          late_ms integer,
          overlap integer not null,
          jitter_ms integer not null,
          starts integer,
          ends integer,
          max_count integer,
          fired integer not null default 0,
          skipped integer not null default 0,
          occurrence integer,
          due integer,
          last_occurrence integer,
          last_topic text,
          last_sequence integer,
          created integer not null,
          changed integer not null,
          primary key (scope, id)
        ) strict, without rowid`),
      raw('create index task_periodic_due on task_periodic (due) where due is not null'),
    ],
  },
  {
    version: 5,
    name: 'results and attempts',
    // Older releases write neither, and may keep running.
    worksFrom: 2,
    statements: [
      raw(`
        create table task_result (
          topic text not null,
          sequence integer not null,
          value text,
          next_topic text,
          next_sequence integer,
          primary key (topic, sequence)
        ) strict, without rowid`),
      raw(`
        create table task_attempt (
          topic text not null,
          sequence integer not null,
          attempt integer not null,
          started integer,
          ended integer not null,
          outcome integer not null,
          reason integer,
          owner text,
          error text,
          message text,
          primary key (topic, sequence, attempt)
        ) strict, without rowid`),
      raw('create index task_attempt_ended on task_attempt (topic, ended)'),
    ],
  },
  {
    version: 6,
    name: 'dependencies',
    // Older releases start no blocked task, and may keep running.
    worksFrom: 2,
    statements: [
      raw(`
        create table task_dependency (
          topic text not null,
          sequence integer not null,
          place integer not null,
          need text not null,
          parent_topic text not null,
          parent integer not null,
          tolerant integer not null,
          primary key (topic, sequence, place)
        ) strict, without rowid`),
      raw('create index task_dependency_parent on task_dependency (parent_topic, parent)'),
    ],
  },
  {
    version: 7,
    name: 'limits',
    // Older releases keep no limits, and may keep running.
    worksFrom: 2,
    statements: [
      raw(`
        create table task_limit (
          topic text not null,
          kind text not null,
          amount integer,
          per_ms integer,
          used integer not null default 0,
          counted_at integer,
          target text,
          primary key (topic, kind)
        ) strict, without rowid`),
      raw(`
        create table task_slot (
          topic text not null,
          owner text not null,
          slots integer not null,
          wanted integer not null,
          primary key (topic, owner)
        ) strict, without rowid`),
      raw('drop view task_pretty'),
      pretty(8),
    ],
  },
  operatorsStep,
  tracesStep,
]
