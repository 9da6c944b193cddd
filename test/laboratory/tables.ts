/** Tables in which the database itself records what happens: a trigger writes each change of a task's row, in the same transaction. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { raw, sql } from '@taskstream/task-sql'
import type { Row, Statement } from '@taskstream/task-sql'
import type { Subject } from '../subject.ts'
import type { Change, Effect, Led, Timer } from './checker/history.ts'
import { timers } from './setting.ts'
import type { Site } from './site.ts'

type Engine = 'postgres' | 'mariadb' | 'sqlite'

const columns = 'topic, sequence, identifier, state, attempt, owner, priority, task_key, is_new, external_id'
const valuesOf = (row: 'new' | 'old', isNew: 0 | 1): string =>
  `${row}.topic, ${row}.sequence, ${row}.identifier, ${row === 'old' ? 'null' : 'new.state'}, ${row}.attempt, ${row}.owner, ${row}.priority, ${row}.input, ${isNew}, ${row}.external_id`
const changed = (isDistinct: (column: string) => string): string => ['state', 'attempt', 'owner'].map(isDistinct).join(' or ')

const definitions: Readonly<Record<Engine, readonly string[]>> = {
  postgres: [
    `create table lab_change (
       id bigint generated always as identity primary key, xid text not null default pg_current_xact_id()::text, began timestamptz not null default statement_timestamp(),
       topic text, sequence bigint, identifier text, state integer, attempt integer, owner text, priority integer, task_key text, is_new integer, external_id text)`,
    `create table lab_effect (id bigint generated always as identity primary key, xid text not null default pg_current_xact_id()::text, topic text, sequence bigint, attempt integer, task_key text)`,
    `create table lab_led (id bigint generated always as identity primary key, xid text not null default pg_current_xact_id()::text, group_id text, actor text, term integer)`,
    `create function lab_note() returns trigger language plpgsql as $$
       begin
         if tg_op = 'DELETE' then
           insert into lab_change (${columns}) values (${valuesOf('old', 0)});
         else
           insert into lab_change (${columns}) values (${valuesOf('new', 0).replace(', 0, ', ", (tg_op = 'INSERT')::integer, ")});
         end if;
         return null;
       end $$`,
    `create trigger lab_note after insert or delete on taskstream.task for each row execute function lab_note()`,
    `create trigger lab_note_changes after update on taskstream.task for each row
       when (${changed((column) => `old.${column} is distinct from new.${column}`)}) execute function lab_note()`,
  ],
  mariadb: [
    `create table lab_change (
       id bigint auto_increment primary key, began datetime(6) not null default now(6),
       topic text, sequence bigint, identifier text, state integer, attempt integer, owner text, priority integer, task_key text, is_new integer, external_id text)`,
    'create table lab_effect (id bigint auto_increment primary key, topic text, sequence bigint, attempt integer, task_key text)',
    'create table lab_led (id bigint auto_increment primary key, group_id varchar(250), actor varchar(250), term integer)',
    `create trigger lab_note_new after insert on task for each row insert into lab_change (${columns}) values (${valuesOf('new', 1)})`,
    `create trigger lab_note_old after delete on task for each row insert into lab_change (${columns}) values (${valuesOf('old', 0)})`,
    `create trigger lab_note after update on task for each row
       begin
         if ${changed((column) => `not (old.${column} <=> new.${column})`)} then
           insert into lab_change (${columns}) values (${valuesOf('new', 0)});
         end if;
       end`,
  ],
  sqlite: [
    `create table lab_change (
       id integer primary key autoincrement, began real not null default (unixepoch('subsec') * 1000),
       topic text, sequence integer, identifier text, state integer, attempt integer, owner text, priority integer, task_key text, is_new integer, external_id text)`,
    'create table lab_effect (id integer primary key autoincrement, topic text, sequence integer, attempt integer, task_key text)',
    'create table lab_led (id integer primary key autoincrement, group_id text, actor text, term integer)',
    `create trigger lab_note_new after insert on task begin insert into lab_change (${columns}) values (${valuesOf('new', 1)}); end`,
    `create trigger lab_note_old after delete on task begin insert into lab_change (${columns}) values (${valuesOf('old', 0)}); end`,
    `create trigger lab_note after update on task when ${changed((column) => `old.${column} is not new.${column}`)}
       begin insert into lab_change (${columns}) values (${valuesOf('new', 0)}); end`,
  ],
}

const leaders = (engine: Engine): string[] => [
  'create table token_holder (group_id varchar(255) primary key, task_id varchar(255), term integer)',
  `create table health_check (task_id varchar(255), group_id varchar(255), last_heartbeat timestamp${engine === 'mariadb' ? '(6)' : ''}, primary key (task_id, group_id))`,
]

export async function createTables(subject: Subject): Promise<void> {
  const engine = subject.engine as Engine
  for (const text of [...definitions[engine], ...leaders(engine)])
    await subject.transactions((transaction) => subject.execute(transaction, raw(text)))
}

/** Commits are ordered where the engine tells when they were; elsewhere, changes are, which for one row is the same. */
const changes: Readonly<Record<Engine, Statement>> = {
  postgres: sql`
    select extract(epoch from c.began) * 1000 as began_ms, extract(epoch from c.at) * 1000 as at_ms, c.*
      from (select *, pg_xact_commit_timestamp(xid::xid) as at, xid::text as xact from lab_change) c
     order by c.at, c.id`,
  mariadb: sql`select unix_timestamp(began) * 1000 as began_ms, unix_timestamp(began) * 1000 as at_ms, null as xact, c.* from lab_change c order by id`,
  sqlite: sql`select began as began_ms, began as at_ms, null as xact, c.* from lab_change c order by id`,
}

const effects: Readonly<Record<Engine, Statement>> = {
  postgres: sql`select xid::text as xact, topic, sequence, attempt, task_key from lab_effect order by id`,
  mariadb: sql`select null as xact, topic, sequence, attempt, task_key from lab_effect order by id`,
  sqlite: sql`select null as xact, topic, sequence, attempt, task_key from lab_effect order by id`,
}

const led: Readonly<Record<Engine, Statement>> = {
  postgres: sql`select group_id, actor, term from lab_led order by pg_xact_commit_timestamp(xid::xid), id`,
  mariadb: sql`select group_id, actor, term from lab_led order by id`,
  sqlite: sql`select group_id, actor, term from lab_led order by id`,
}

const text = (value: unknown): string | undefined => (value === null || value === undefined ? undefined : String(value))

/** Writes what the database has recorded, for the checker. */
export async function writeTruth({ subject, realOf = (ms) => ms }: Site, folder: string, topic: string): Promise<void> {
  const engine = subject.engine as Engine
  const read = (statement: Statement): Promise<readonly Row[]> =>
    subject.transactions((transaction) => subject.execute(transaction, statement)) as Promise<readonly Row[]>
  const write = <Entry>(name: string, entries: readonly Entry[]): void =>
    writeFileSync(join(folder, `${name}.jsonl`), entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
  write<Change>(
    'changes',
    (await read(changes[engine])).map((row) => ({
      topic: String(row['topic']),
      sequence: Number(row['sequence']),
      identifier: String(row['identifier']),
      state: row['state'] === null ? undefined : Number(row['state']),
      attempt: Number(row['attempt']),
      owner: text(row['owner']),
      priority: Number(row['priority']),
      key: text(row['task_key']),
      isNew: Number(row['is_new']) === 1,
      externalId: text(row['external_id']),
      began: realOf(Number(row['began_ms'])),
      at: realOf(Number(row['at_ms'])),
      transaction: text(row['xact']),
    })),
  )
  write<Effect>(
    'effects',
    (await read(effects[engine])).map((row) => ({
      topic: String(row['topic']),
      sequence: Number(row['sequence']),
      attempt: Number(row['attempt']),
      key: String(row['task_key']),
      transaction: text(row['xact']),
    })),
  )
  write<Led>(
    'led',
    (await read(led[engine])).map((row) => ({
      group: String(row['group_id']),
      actor: String(row['actor']),
      term: Number(row['term']),
    })),
  )
  const table = raw(engine === 'postgres' ? 'taskstream.task_periodic' : 'task_periodic')
  const instant = (column: string): Statement => raw(engine === 'postgres' ? `extract(epoch from ${column}) * 1000` : column)
  const stored = await read(
    sql`select id, ${instant('created')} as created_ms, ${instant('occurrence')} as next_ms from ${table}`,
  )
  write<Timer>(
    'timers',
    stored.map((row) => ({
      id: String(row['id']),
      topic,
      everySeconds: timers.find(({ id }) => id === row['id'])!.everySeconds,
      createdMs: Number(row['created_ms']),
      nextMs: Number(row['next_ms']),
    })),
  )
}
