/** Makes databases of PostgreSQL with an owner and a worker. Processes of tests load only their own engine's library. */
import { fromPg } from '@taskstream/task-sql/pg'
import type { Row, Statement } from '@taskstream/task-sql'
import pg from 'pg'
import { grantsOf } from './grants.ts'
import type { Names } from './grants.ts'
import { administrators, at } from './least-privilege.ts'
import type { Users } from './least-privilege.ts'

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

/** Runs one of the suite's own statements in a worker's transaction. If it fails, the role is not reset here: the end of the transaction resets it. */
export async function asPostgresAdministrator(client: pg.ClientBase, statement: Statement): Promise<readonly Row[]> {
  await client.query(`set role ${administrators.postgres}`)
  try {
    return await fromPg.execute(client as pg.PoolClient, statement)
  } finally {
    await client.query('reset role').catch(() => {})
  }
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
