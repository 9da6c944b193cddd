/** What the drivers know of a table layout: its DDL and its verbs, nothing about how it finds a task. */
import type { ClientBase } from 'pg'

export interface Claim {
  readonly sequence: number
  readonly attempt: number
  readonly identifier: string
  readonly input: string
}

export interface Completion {
  readonly sequence: number
  readonly attempt: number
  readonly state: number
  readonly output: string | null
}

/** The memory one process keeps for one topic: shared by all its connections, empty after a restart. */
export interface Poller {
  /** Runs inside whatever transaction the client is in; sorted by sequence. */
  poll(client: ClientBase, size: number, owner: string): Promise<Claim[]>
  /** How often `tick` wants to run, outside every other transaction; absent if it needs none. */
  readonly tickMs?: number
  tick?(client: ClientBase): Promise<void>
}

export interface Layout {
  readonly name: string
  readonly note: string
  readonly schema: readonly string[]
  push(client: ClientBase, topic: string, identifiers: readonly string[], inputs: readonly string[]): Promise<number[]>
  createPoller(topic: string): Poller
  /** Sequences that were still held by this owner at this attempt. */
  complete(client: ClientBase, topic: string, owner: string, completions: readonly Completion[]): Promise<number[]>
  /** Makes rows READY again, whatever they were: hand back, release, reset. */
  reset(client: ClientBase, topic: string, sequences: readonly number[]): Promise<number[]>
  /** Everything a dead owner holds becomes READY again. */
  expire(client: ClientBase, topic: string, owner: string): Promise<number[]>
  /** Background upkeep in a transaction of its own, such as trimming a ledger. */
  maintain?(client: ClientBase, topic: string): Promise<void>
}

export const state = { active: 0, ready: 1, expired: 2, failed: 3, suspended: 4, filtered: 5, succeeded: 6 } as const

/** Widest fixed-width columns first: no padding between them. */
const allColumns = `
  sequence bigint not null default nextval('task_sequence'),
  created timestamptz not null default statement_timestamp(),
  started timestamptz,
  completed timestamptz,
  due timestamptz,
  deadline timestamptz,
  attempt integer not null default 0,
  tries integer not null default 0,
  max_tries integer,
  state smallint not null default 1,
  descent smallint not null default 1,
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
  output text`

const minimalColumns = `
  sequence bigint not null default nextval('task_sequence'),
  created timestamptz not null default statement_timestamp(),
  started timestamptz,
  completed timestamptz,
  attempt integer not null default 0,
  state smallint not null default 1,
  listed boolean not null default false,
  topic varchar(250) collate "C" not null,
  identifier varchar(500) collate "C" not null,
  owner varchar(250) collate "C",
  input text,
  output text`

/**
 * Some hundred empty pages. A plan that is made and kept while the table is tiny would read all of it, for ever: with these
 * pages (the planner asks the file for its size) the primary key is the cheaper way from the first day on.
 */
const ballast = [
  `insert into task (topic, identifier, state)
   select '', repeat(md5(i::text), 15), 6 from generate_series(1, 1200) as i`,
  'delete from task',
  'vacuum task',
]

export interface TableOptions {
  readonly fillfactor: number
  readonly columns?: 'all' | 'minimal'
}

export function createTables(options: TableOptions): string[] {
  const all = options.columns !== 'minimal'
  return [
    // cache 1: a session that keeps numbers for later would use them in a transaction younger than its marks.
    'create sequence task_sequence cache 1',
    `create table task (${all ? allColumns : minimalColumns},
      primary key (topic, sequence)) with (fillfactor = ${options.fillfactor}, vacuum_truncate = off)`,
    ...ballast,
    `create table task_topic (topic varchar(250) collate "C" primary key, floor bigint not null default 0,
      horizon bigint not null default 0, horizon_xid xid8 not null default '0') with (fillfactor = 20)`,
    'create table task_owner (owner varchar(250) collate "C" primary key, beaten timestamptz not null default statement_timestamp())',
    ...(all
      ? [
          'create index task_due on task (topic, due) where due is not null',
          'create unique index task_external on task (topic, external_id) where external_id is not null',
        ]
      : []),
  ]
}

export function sequencesOf(result: { rows: readonly { sequence: number }[] }): number[] {
  return result.rows.map((row) => row.sequence)
}

export function bySequence(left: { sequence: number }, right: { sequence: number }): number {
  return left.sequence - right.sequence
}
