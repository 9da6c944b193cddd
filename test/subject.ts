/** What a suite is given: one engine, empty, with as many real connections as it asks for. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Execution, TransactionSource } from '@taskstream/task-api'
import { raw, sqlTaskRepository } from '@taskstream/task-sql'
import type { Dialect, Row, SqlAdapter, SqlTaskRepository, SqlTaskRepositoryOptions, Statement } from '@taskstream/task-sql'
import { fromBetterSqlite3, openBetterSqlite3, sqlite, sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'
import type { SqliteDatabase } from '@taskstream/task-sql/better-sqlite3'
import { fromNodeSqlite, openNodeSqlite } from '@taskstream/task-sql/node-sqlite'
import { fromPg, pgTransactions, postgres } from '@taskstream/task-sql/postgres'
import { fromMysql2, mariadb, mysql, mysql2Transactions } from '@taskstream/task-sql/mysql'
import { testTasks } from '@taskstream/task-testing'
import { createConnection, createPool } from 'mysql2/promise'
import type { Connection, PoolConnection } from 'mysql2/promise'
import pg from 'pg'
import {
  asMariadbAdministrator,
  asPostgresAdministrator,
  createMariadbUsers,
  createPostgresUsers,
  isWorker,
} from './databases/least-privilege.ts'
import { createOracle, openOracle } from './databases/oracle-subject.ts'

/** A transaction of whatever driver: the suite never looks inside. */
// oxlint-disable-next-line typescript/no-explicit-any -- the one place where a suite is kept from knowing its driver
export type AnyTransaction = any

export type Tasks = SqlTaskRepository<AnyTransaction, Execution>

/** One connection, whose transactions are begun and ended by hand, so that several can be interleaved. */
export interface Session {
  readonly transaction: AnyTransaction
  begin(): Promise<void>
  commit(): Promise<void>
  rollback(): Promise<void>
  /** Closes the connection, as a client that goes away. */
  close(): Promise<void>
}

/** Who migrates. */
interface Owner {
  readonly transactions: TransactionSource<AnyTransaction>
  /** How another process opens the database as this user. */
  readonly at: string
}

export interface TasksOptions extends Pick<SqlTaskRepositoryOptions<AnyTransaction, Execution>, 'owner' | 'speaksFor' | 'clock'> {
  /** Changes what the adapter is handed. */
  readonly adapt?: (adapter: SqlAdapter<AnyTransaction>) => SqlAdapter<AnyTransaction>
}

export interface Subject extends AsyncDisposable {
  readonly engine: 'postgres' | 'sqlite' | 'mariadb' | 'oracle'
  /** How another process opens the same database. */
  readonly location: { readonly subject: string; readonly at: string }
  /** How many transactions can write at the same time: 1 on SQLite. */
  readonly writers: number
  /** How many connections can be open: 1 in memory. */
  readonly connections: number
  /** A repository with an owner of its own; not registered yet. */
  tasks(options?: TasksOptions): Tasks
  /** Commits what `work` does, on a connection that the subject keeps. */
  readonly transactions: TransactionSource<AnyTransaction>
  /** Of the worker, unless another user is named. */
  session(as?: Owner): Promise<Session>
  /** The owner of the tables: somebody else where the suite works with the least rights. */
  readonly owner: Owner
  /** A statement of the suite's own, run with every right there is. */
  execute(transaction: AnyTransaction, statement: Statement): Promise<readonly Row[]>
}

/** What the vitest project names. */
export const subjectName: string = process.env['TASKSTREAM_SUBJECT'] ?? 'sqlite-memory'

/** A pooler before PostgreSQL is PostgreSQL. */
const pooled = subjectName === 'pgbouncer'
export const isPostgres: boolean = pooled || subjectName.startsWith('postgres')
export const isMysql: boolean = subjectName === 'mariadb' || subjectName === 'mysql'
export const isOracle: boolean = subjectName === 'oracle'
/** The type of a column of text, in tables that a suite makes for itself. */
export const textColumn: Statement = raw(isOracle ? 'varchar2(1000)' : 'text')
const servers: Readonly<Record<string, string>> = {
  'postgres-15': 'TASKSTREAM_POSTGRES_15_SERVER',
  mariadb: 'TASKSTREAM_MARIADB_SERVER',
  mysql: 'TASKSTREAM_MYSQL_URL',
  oracle: 'TASKSTREAM_ORACLE_SERVER',
}
const server = process.env[servers[subjectName] ?? 'TASKSTREAM_POSTGRES_SERVER']
const pooler = process.env['TASKSTREAM_PGBOUNCER']

/** Whether this project's engine can run here; where it cannot, the global setup says why. */
export const canRun: boolean = !(isPostgres || isMysql || isOracle) || (server !== undefined && (!pooled || pooler !== undefined))

/**
 * Whether the suite works with the least rights. Not on a server of the user's own, where it makes no users; two of the PostgreSQL projects do,
 * so that each promise is also tested with every right.
 */
export const leastPrivilege: boolean =
  subjectName === 'postgres-15' ||
  subjectName === 'mariadb' ||
  (subjectName === 'postgres-partitioned' && !process.env['TASKSTREAM_POSTGRES_URL'])

/** An empty database with migrated tables. */
export async function openSubject(): Promise<Subject> {
  if (subjectName === 'testing') return openTesting()
  const subject = await create(server ?? '')
  await subject.tasks().migrate(subject.owner.transactions)
  await subject.grant?.()
  return subject
}

/** What is not migrated yet; where rights are the least, they are to be granted then. */
type Unmigrated = Subject & { readonly grant?: () => Promise<void> }

function create(direct: string): Promise<Unmigrated> {
  if (isPostgres) return createPostgres()
  if (isMysql) return createMysql(direct)
  return isOracle ? createOracle(direct, repositories) : createSqlite()
}

async function createPostgres(): Promise<Unmigrated> {
  const direct = server ?? ''
  const name = `taskstream_test_${randomBytes(6).toString('hex')}`
  if (leastPrivilege) {
    const users = await createPostgresUsers(direct, name)
    return { ...(await openPostgres(users.worker, users.remove, users.owner)), grant: users.grant }
  }
  await once(direct, `create database ${name}`)
  const url = new URL((pooled ? pooler : server) ?? '')
  url.pathname = `/${name}`
  return openPostgres(url.href, () => once(direct, `drop database ${name} with (force)`))
}

async function once(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(statement)
  await client.end()
}

/** An existing PostgreSQL database, as a worker process opens it. */
export async function openPostgres(
  url: string,
  remove: () => Promise<void> = async () => {},
  owner: string = url,
): Promise<Subject> {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  pool.on('error', () => {})
  const transactions = pgTransactions(pool) as TransactionSource<AnyTransaction>
  const owners = owner === url ? pool : new pg.Pool({ connectionString: owner, max: 10 })
  owners.on('error', () => {})
  const execute = isWorker(url) ? asPostgresAdministrator : fromPg.execute
  const open: pg.Client[] = []
  return {
    engine: 'postgres',
    location: { subject: 'postgres-18', at: url },
    writers: Infinity,
    connections: Infinity,
    transactions,
    tasks: repositories(
      postgres({ partitioned: subjectName === 'postgres-partitioned' }),
      fromPg as SqlAdapter<AnyTransaction, 'async'>,
    ),
    owner: { transactions: pgTransactions(owners) as TransactionSource<AnyTransaction>, at: owner },
    execute: async (transaction, statement) => execute(transaction as pg.PoolClient, statement),
    session: async (as) => {
      const client = new pg.Client({ connectionString: as?.at ?? url })
      client.on('error', () => {})
      await client.connect()
      open.push(client)
      return {
        transaction: client,
        begin: async () => void (await client.query('begin')),
        commit: async () => void (await client.query('commit')),
        rollback: async () => void (await client.query('rollback')),
        close: () => client.end(),
      }
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(open.map((client) => client.end()))
      await pool.end()
      if (owners !== pool) await owners.end()
      await remove()
    },
  }
}

async function createMysql(direct: string): Promise<Unmigrated> {
  const name = `taskstream_test_${randomBytes(6).toString('hex')}`
  if (leastPrivilege) {
    const users = await createMariadbUsers(direct, name)
    return { ...(await openMysql(subjectName, users.worker, users.remove, users.owner)), grant: users.grant }
  }
  await onceMysql(direct, `create database ${name}`)
  const url = new URL(direct)
  url.pathname = `/${name}`
  return openMysql(subjectName, url.href, () => onceMysql(direct, `drop database ${name}`))
}

async function onceMysql(url: string, statement: string): Promise<void> {
  const connection = await createConnection({ uri: url })
  await connection.query(statement)
  await connection.end()
}

/** An existing database of MariaDB or MySQL, as a worker process opens it. */
async function openMysql(
  subject: string,
  url: string,
  remove: () => Promise<void> = async () => {},
  owner: string = url,
): Promise<Subject> {
  const pool = createPool({ uri: url, connectionLimit: 10 })
  const owners = owner === url ? pool : createPool({ uri: owner, connectionLimit: 10 })
  const execute: SqlAdapter<PoolConnection, 'async'>['execute'] = isWorker(url)
    ? (connection, statement) => asMariadbAdministrator(connection, statement, url)
    : fromMysql2.execute
  const open: Connection[] = []
  return {
    engine: 'mariadb',
    location: { subject, at: url },
    writers: Infinity,
    connections: Infinity,
    transactions: mysql2Transactions(pool) as TransactionSource<AnyTransaction>,
    tasks: repositories(subject === 'mysql' ? mysql() : mariadb(), fromMysql2 as SqlAdapter<AnyTransaction, 'async'>),
    owner: { transactions: mysql2Transactions(owners) as TransactionSource<AnyTransaction>, at: owner },
    execute: async (transaction, statement) => execute(transaction as PoolConnection, statement),
    session: async (as) => {
      const connection = await createConnection({ uri: as?.at ?? url })
      connection.on('error', () => {})
      open.push(connection)
      return {
        transaction: connection,
        begin: async () => {
          await connection.query('set transaction isolation level read committed')
          await connection.beginTransaction()
        },
        commit: () => connection.commit(),
        rollback: () => connection.rollback(),
        close: () => connection.end(),
      }
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(open.map((connection) => connection.end().catch(() => {})))
      await pool.end()
      if (owners !== pool) await owners.end()
      await remove()
    },
  }
}

async function createSqlite(): Promise<Subject> {
  if (subjectName === 'sqlite-memory') return openSqlite(subjectName, ':memory:')
  const folder = mkdtempSync(join(tmpdir(), 'taskstream-test-'))
  return openSqlite(subjectName, join(folder, 'tasks.db'), () => rmSync(folder, { recursive: true, force: true }))
}

/** A SQLite file, as a worker process opens it too. */
export async function openSqlite(subject: string, file: string, remove: () => void = () => {}): Promise<Subject> {
  // No power cut is part of any test, and a commit without a sync is many times faster.
  const settings = { synchronous: 'normal', busyTimeoutMs: 0 } as const
  const open = (): Promise<AnyTransaction> =>
    subject === 'node-sqlite' ? openNodeSqlite(file, settings) : openBetterSqlite3(file, settings)
  const adapter: SqlAdapter<AnyTransaction, 'sync'> = subject === 'node-sqlite' ? fromNodeSqlite : fromBetterSqlite3
  const database = await open()
  const opened = [database]
  const transactions = sqliteTransactions(database as SqliteDatabase)
  return {
    engine: 'sqlite',
    location: { subject, at: file },
    writers: 1,
    connections: file === ':memory:' ? 1 : Infinity,
    transactions,
    owner: { transactions, at: file },
    tasks: repositories(sqlite(), adapter),
    execute: async (transaction, statement) => adapter.execute(transaction, statement),
    session: async () => {
      const connection = file === ':memory:' ? database : await open()
      if (connection !== database) opened.push(connection)
      return {
        transaction: connection,
        begin: async () => connection.exec('begin immediate'),
        commit: async () => connection.exec('commit'),
        rollback: async () => connection.exec('rollback'),
        // In memory it is the only one, and the subject's.
        close: async () => void (connection !== database && connection.close()),
      }
    },
    [Symbol.asyncDispose]: async () => {
      for (const connection of opened) {
        try {
          connection.close()
        } catch {
          // A test closed it already.
        }
      }
      remove()
    },
  }
}

/** A database that is there, as another process or thread opens it. */
export function reopenSubject({ subject, at }: Subject['location']): Promise<Subject> {
  if (subject === 'mariadb' || subject === 'mysql') return openMysql(subject, at)
  if (subject === 'oracle') return openOracle(at, repositories)
  return subject.startsWith('postgres') ? openPostgres(at) : openSqlite(subject, at)
}

/** What users are given for their own tests. Before each verb its clock is set to the one that the suite gives, or to the world's. */
async function openTesting(): Promise<Subject> {
  const opened = await testTasks()
  const { database, clock, transactions } = opened
  return {
    engine: 'sqlite',
    location: { subject: subjectName, at: ':memory:' },
    writers: 1,
    connections: 1,
    transactions,
    owner: { transactions, at: ':memory:' },
    tasks: ({ owner, clock: given = () => new Date() } = {}) => {
      const set =
        (verb: (...args: readonly unknown[]) => unknown): typeof verb =>
        (...args) => {
          clock.set(given())
          return verb(...args)
        }
      const { verb, ...others } = opened.owner(owner) as unknown as Record<string, Parameters<typeof set>[0]>
      const verbs = Object.entries(others).map(([name, each]) => [name, typeof each === 'function' ? set(each) : each])
      const own = (...args: readonly unknown[]): unknown => set(verb!(...args) as Parameters<typeof set>[0])
      return { ...Object.fromEntries(verbs), verb: own } as unknown as Tasks
    },
    execute: async (transaction, statement) => fromNodeSqlite.execute(transaction, statement),
    session: async () => ({
      transaction: database,
      begin: async () => database.exec('begin immediate'),
      commit: async () => database.exec('commit'),
      rollback: async () => database.exec('rollback'),
      // It is the only one, and the subject's.
      close: async () => {},
    }),
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  }
}

/** Makes repositories of one dialect and adapter. */
export type Repositories = typeof repositories

function repositories<E extends Execution>(dialect: Dialect, adapter: SqlAdapter<AnyTransaction, E>): Subject['tasks'] {
  return ({ adapt = (same: SqlAdapter<AnyTransaction>) => same, ...options }: TasksOptions = {}) =>
    sqlTaskRepository({ dialect, adapter: adapt(adapter), ...options }) as unknown as Tasks
}
