/** Makes databases whose tables belong to an owner, while the suite works as a user with only the rights that docs/guides/grants.md grants. */
import type { Statement } from '@taskstream/task-sql'
import { fromMysql2 } from '@taskstream/task-sql/mysql2'
import { fromPg } from '@taskstream/task-sql/pg'
import type { Row } from '@taskstream/task-sql'
import { createConnection } from 'mysql2/promise'
import type { Connection } from 'mysql2/promise'
import pg from 'pg'
import { grantsOf } from './grants.ts'
import type { Names } from './grants.ts'

/** The URLs with which a database's owner and its worker connect. */
export interface Users {
  readonly owner: string
  readonly worker: string
  /** Gives the worker its rights. Call this once the owner has made the tables. */
  grant(): Promise<void>
  remove(): Promise<void>
}

/** Roles that may do anything. The suite's own statements run with them, in the worker's transactions. */
const administrators = { postgres: 'postgres', mariadb: 'taskstream_administrator' }

/** Returns the administrator's URL for a worker's URL. The URL of another user stays the same. */
export function administratorOf(url: string): string {
  const { protocol, pathname } = new URL(url)
  return isWorker(url) ? at(url, pathname, protocol === 'mysql:' ? 'root' : administrators.postgres) : url
}

/** Whether this is the URL of a worker, who has only the granted rights. */
export function isWorker(url: string): boolean {
  return new URL(url).username.endsWith('_worker')
}

/** Creates a PostgreSQL database with its users, on a server that the suite has started. */
export async function createPostgresUsers(server: string, name: string): Promise<Users> {
  const [owner, worker] = [`${name}_owner`, `${name}_worker`]
  const names: Names = { app: name, taskstream_owner: owner, taskstream_worker: worker }
  await onPostgres(server, [`create database ${name}`])
  const own = at(server, '/' + name)
  const [first, second, , create] = grantsOf('postgres: administrator', names)
  await onPostgres(own, [
    ...[first, second, create].map(String),
    // The worker does not inherit the administrator's rights. `asPostgresAdministrator` must ask for them.
    `alter role ${worker} noinherit`,
    `grant ${administrators.postgres} to ${worker}`,
    // Tables that tests make stand for those of an application.
    `alter default privileges for role ${administrators.postgres}, ${owner} in schema public grant all on tables to ${worker}`,
    `grant create on schema public to ${owner}`,
  ])
  const ownersUrl = at(own, '/' + name, owner)
  return {
    owner: ownersUrl,
    worker: at(own, '/' + name, worker),
    grant: () => onPostgres(ownersUrl, grantsOf('postgres: worker', names)),
    remove: () => onPostgres(server, [`drop database ${name} with (force)`, `drop role ${owner}`, `drop role ${worker}`]),
  }
}

/** Creates a MariaDB database with its users, on a server that the suite has started. */
export async function createMariadbUsers(server: string, name: string): Promise<Users> {
  const [owner, worker] = [`${name}_owner`, `${name}_worker`]
  const names: Names = { app: name, taskstream_owner: owner, taskstream_worker: worker }
  const [first, second, , create] = grantsOf('mariadb: administrator', names)
  await onMysql(server, [
    `create database ${name}`,
    ...[first, second, create].map(String),
    `create role if not exists ${administrators.mariadb}`,
    `grant all on *.* to ${administrators.mariadb}`,
    `grant ${administrators.mariadb} to ${worker}@'127.0.0.1'`,
  ])
  return {
    owner: at(server, '/' + name, owner),
    worker: at(server, '/' + name, worker),
    grant: () => onMysql(server, grantsOf('mariadb: worker', names)),
    remove: () => onMysql(server, [`drop database ${name}`, `drop user ${owner}@'127.0.0.1'`, `drop user ${worker}@'127.0.0.1'`]),
  }
}

/** Runs one of the suite's own statements in a worker's transaction. If it fails, the role is not reset here: the end of the transaction resets it. */
export async function asPostgresAdministrator(client: pg.ClientBase, statement: Statement): Promise<readonly Row[]> {
  await client.query(`set role ${administrators.postgres}`)
  try {
    return await fromPg.execute(client as pg.PoolClient, statement)
  } finally {
    await client.query('reset role').catch(() => {})
  }
}

/**
 * Runs one of the suite's own statements in a worker's transaction. A definition runs on a connection of its own, as it would end the transaction. It
 * runs as an administrator, as a trigger has the rights of the user who made it, but not those of a role.
 */
export async function asMariadbAdministrator(connection: Connection, statement: Statement, url: string): Promise<readonly Row[]> {
  const text = statement.texts.join('')
  if (/^\s*(create|drop|alter|grant|revoke)\s/i.test(text)) {
    const { pathname, username } = new URL(url)
    const [, table] = /^\s*create table (?:if not exists )?(\w+)/.exec(text) ?? []
    // A table that a test makes stands for one of an application.
    const users = [username, username.replace(/_worker$/, '_owner')].map((user) => `${user}@'127.0.0.1'`)
    const grants = table === undefined ? [] : [`grant all on ${pathname.slice(1)}.${table} to ${users.join(', ')}`]
    await onMysql(administratorOf(url), [text, ...grants])
    return []
  }
  // A user that a test has made for itself does not have this role, and does not need it.
  await connection.query(`set role ${administrators.mariadb}`).catch(() => {})
  try {
    return await fromMysql2.execute(connection, statement)
  } finally {
    await connection.query('set role none').catch(() => {})
  }
}

function at(url: string, pathname: string, username?: string): string {
  const other = new URL(url)
  other.pathname = pathname
  if (username !== undefined) other.username = username
  return other.href
}

async function onPostgres(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

async function onMysql(url: string, statements: readonly string[]): Promise<void> {
  const connection = await createConnection({ uri: url })
  try {
    for (const statement of statements) await connection.query(statement)
  } finally {
    await connection.end()
  }
}
