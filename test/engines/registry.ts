/**
 * Every engine that the suite knows, and the facts that decide which tests it gets. These are plain data for vitest's
 * configuration, the tests and the tables of docs/.
 */

export interface EngineFacts {
  /** The heading of its column in docs/guarantees.md. */
  readonly title: string
  /** The engine, in words for a sentence. */
  readonly about: string
  readonly family: 'sqlite' | 'postgres' | 'mysql' | 'oracle'
  /** The engine with the same statements, from which it differs in driver, release or pooler. That one runs all of test/e2e for both. */
  readonly like?: 'sqlite-file' | 'postgres-18'
  /** How many connections can be open at a time: 1 in memory. */
  readonly connections: number
  /** How many transactions can write at a time: 1 on SQLite. */
  readonly writers: number
  /** The environment variable with the URL of its server, which the global setup starts. */
  readonly server?: string
  /** Whether the suite works with the least rights, on tables of another user. */
  readonly leastPrivilege?: boolean
  /** Whether connections go through a pooler, which allows no listeners and hides the server's processes. */
  readonly pooled?: boolean
  /** Whether each topic is a partition. */
  readonly partitioned?: boolean
  /** Whether each topic keeps outcomes that can. */
  readonly outcomes?: boolean
  /** Whether the driver returns promises, unlike the others of its family. */
  readonly promises?: boolean
  /** Whether tests may kill server processes and record statements: one engine of each family is enough. */
  readonly faults?: boolean
  /** Whether nothing can stand between a repository and its driver, so that tests cannot use `adapt`. */
  readonly sealed?: boolean
  /** Whether plans are tested on a million rows, which is needed where plans can differ. */
  readonly plans?: boolean
  /** Whether the server is the user's own, in a container or not. Tests kill none of its processes. */
  readonly ownServer?: boolean
  /** Whether a server must be given, because nothing installs one. */
  readonly given?: boolean
}

const memory = { family: 'sqlite', connections: 1, writers: 1 } as const
const file = { family: 'sqlite', connections: Infinity, writers: 1, faults: true } as const
const postgres = {
  family: 'postgres',
  connections: Infinity,
  writers: Infinity,
  server: 'TASKSTREAM_POSTGRES_SERVER',
} as const
const mysql = { family: 'mysql', connections: Infinity, writers: Infinity, faults: true } as const
/** On a user's own server the tests create no users and kill no process. */
const isGiven = (variable: string): boolean => Boolean(process.env[variable])

export const engines = {
  'sqlite-memory': { ...memory, title: 'SQLite, memory', about: 'SQLite in memory (better-sqlite3)', plans: true },
  'sqlite-file': { ...file, title: 'SQLite, file', about: 'SQLite in files (better-sqlite3)' },
  'node-sqlite': { ...file, like: 'sqlite-file', title: 'node:sqlite', about: 'SQLite in files (node:sqlite)' },
  libsql: {
    family: 'sqlite',
    like: 'sqlite-file',
    connections: Infinity,
    writers: 1,
    title: 'libSQL, file',
    about: 'SQLite in files (libSQL)',
    promises: true,
  },
  testing: { ...memory, title: 'task-testing', about: 'SQLite in memory (node:sqlite, by task-testing)', sealed: true },
  'postgres-18': { ...postgres, title: 'PostgreSQL 18', about: 'PostgreSQL 18', faults: true, plans: true },
  'postgres-partitioned': {
    ...postgres,
    like: 'postgres-18',
    title: '18, partitioned',
    about: 'PostgreSQL 18, a partition for each topic',
    partitioned: true,
    leastPrivilege: !isGiven('TASKSTREAM_POSTGRES_URL'),
  },
  'postgres-outcomes': {
    ...postgres,
    like: 'postgres-18',
    title: '18, outcomes',
    about: 'PostgreSQL 18, each plain topic keeps outcomes',
    outcomes: true,
    faults: true,
  },
  'postgres-15': {
    ...postgres,
    like: 'postgres-18',
    title: 'PostgreSQL 15',
    about: 'PostgreSQL 15',
    server: 'TASKSTREAM_POSTGRES_15_SERVER',
    leastPrivilege: true,
    plans: true,
  },
  pglite: {
    family: 'postgres',
    like: 'postgres-18',
    connections: 1,
    writers: 1,
    title: 'PGlite',
    about: 'PGlite (PostgreSQL in this process)',
  },
  pgbouncer: { ...postgres, like: 'postgres-18', title: 'PgBouncer', about: 'PgBouncer in transaction mode', pooled: true },
  mariadb: {
    ...mysql,
    title: 'MariaDB',
    about: 'MariaDB',
    server: 'TASKSTREAM_MARIADB_SERVER',
    leastPrivilege: !isGiven('TASKSTREAM_MARIADB_URL'),
    ownServer: isGiven('TASKSTREAM_MARIADB_URL'),
    plans: !isGiven('TASKSTREAM_MARIADB_URL'),
  },
  'postgres-given': {
    ...postgres,
    title: 'PostgreSQL, given',
    about: 'PostgreSQL at TASKSTREAM_POSTGRES_URL',
    faults: true,
    ownServer: true,
    given: true,
  },
  mysql: { ...mysql, title: 'MySQL', about: 'MySQL', server: 'TASKSTREAM_MYSQL_URL', ownServer: true, given: true },
  oracle: {
    family: 'oracle',
    title: 'Oracle',
    about: 'Oracle',
    connections: Infinity,
    writers: Infinity,
    server: 'TASKSTREAM_ORACLE_URL',
    ownServer: true,
    given: true,
  },
} as const satisfies Readonly<Record<string, EngineFacts>>

export type EngineName = keyof typeof engines

export const engineNames: readonly EngineName[] = Object.keys(engines) as EngineName[]

/** @throws Error if there is no such engine */
export function factsOf(name: string): EngineFacts {
  if (!Object.hasOwn(engines, name)) throw new Error(`There is no engine ${name}: take one of ${engineNames.join(', ')}.`)
  return engines[name as EngineName]
}
