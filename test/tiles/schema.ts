/** The tables of the tile form, beside nothing else: only the columns that its statements need. */
import type { TaskRecord } from './guards.ts'

/** Ordinals of task_range.state, as of task.state; 9 is a missing block. */
export const rangeStates = { active: 0, done: 6, missing: 9 } as const

/**
 * Ranges tile the numbers of a topic: the first begins at 1024, each begins behind the one before, and the last ends at the frontier. A task without
 * a state is in an active or a done range, which says its state; in a missing one, where it is late; or above the frontier, where it is fresh.
 */
export function schema(record: TaskRecord): string {
  // As measured for the design: room for a second version where each task is written once, and none where it is not.
  const fillfactor = { outcomes: 45, exceptions: 95 }[record]
  return `
    create table task (
      sequence bigint not null,
      created timestamptz not null default statement_timestamp(),
      started timestamptz, completed timestamptz, due timestamptz, deadline timestamptz,
      attempt integer not null default 0, tries integer not null default 0, max_tries integer,
      state smallint check (state between 0 and 8),
      descent smallint not null default 1, priority smallint not null default 0, reason smallint,
      listed boolean not null default false,
      topic varchar(250) collate "C" not null,
      identifier varchar(500) collate "C" not null,
      owner varchar(250) collate "C", reference varchar(500) collate "C", external_id varchar(500) collate "C",
      headers json, input text, output text,
      primary key (topic, sequence)
    ) with (fillfactor = ${fillfactor});
    create index task_listed on task (topic, sequence) where listed;
    create index task_due on task (topic, due) where due is not null;
    create unique index task_external_id on task (topic, external_id) where external_id is not null;
    create table task_owner (owner varchar(250) collate "C" primary key, heartbeat timestamptz not null default statement_timestamp())
      with (fillfactor = 20);
    create table task_range (
      lo bigint not null, hi bigint not null, token bigint, leased timestamptz, done timestamptz, mark xid8,
      n integer not null, state smallint not null, topic varchar(250) collate "C" not null, owner varchar(250) collate "C",
      primary key (topic, lo)
    ) with (fillfactor = 50);
    create index task_range_active on task_range (topic, lo) where state = 0;
    create index task_range_missing on task_range (topic, lo) where state = 9;
    create sequence task_block_t cache 1;`
}

/** What only the hammer's checker reads: what each committed transaction promised, and what was done. No statement of the tile form reads them. */
export const ledgerSchema = `
    create table expected (identifier text not null, delta integer not null, why text not null);
    create table effect (identifier text not null, attempt integer not null, owner text not null, at timestamptz not null default clock_timestamp());`
