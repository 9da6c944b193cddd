/** Makes databases of MariaDB with an owner and a worker. Processes of tests load only their own engine's library. */
import { fromMysql2 } from '@taskstream/task-sql/mysql2'
import type { Row, Statement } from '@taskstream/task-sql'
import { createConnection } from 'mysql2/promise'
import type { Connection } from 'mysql2/promise'
import { grantsOf } from './grants.ts'
import type { Names } from './grants.ts'
import { administratorOf, administrators, at } from './least-privilege.ts'
import type { Users } from './least-privilege.ts'

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

async function onMysql(url: string, statements: readonly string[]): Promise<void> {
  const connection = await createConnection({ uri: url })
  try {
    for (const statement of statements) await connection.query(statement)
  } finally {
    await connection.end()
  }
}
