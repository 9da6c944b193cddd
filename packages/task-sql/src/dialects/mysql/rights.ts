/** Errors for missing rights on MariaDB and MySQL, which say what to grant. */
import { TaskError } from '@taskstream/task-api'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { MysqlTables } from './schema.ts'

/** "SELECT, INSERT command denied to user 'shop'@'10.0.0.1' for table `app`.`task`"; MySQL leaves the database out, and says 'task'. */
const denied = /^(.+) command denied to user (\S+) for (?:table|column '[^']*' in table) (\S+)$/

/** "Access denied for user 'shop'@'%' to database 'app'" */
const deniedDatabase = /^Access denied for user (\S+) to database '(.+)'$/

/** Rights to define tables. */
const definitions = /\b(?:CREATE|ALTER|DROP|INDEX|REFERENCES)\b/

/** The error for a missing right. The server's message names the right. A message in another language is repeated as it is. */
export function permissionDenied(error: Error, errno: number): TaskError {
  const [, privilege, , table] = denied.exec(error.message) ?? []
  const [, , database] = deniedDatabase.exec(error.message) ?? []
  const because = { cause: error }
  if (privilege !== undefined && table !== undefined) {
    const needed = `${privilege} on ${table.replaceAll(/['`]/g, '')}`
    // Whoever works on tasks is not meant to change the tables.
    const helps = definitions.test(privilege)
      ? `migrate as the user who makes the tables, to whom ${needed} is granted`
      : `grant ${needed} to it, as an administrator, or use another user`
    return new TaskError(
      'PERMISSION_DENIED',
      `This user may not do that: ${helps} (${error.message})`,
      { errno, needed },
      because,
    )
  }
  return new TaskError(
    'PERMISSION_DENIED',
    database === undefined
      ? `The database does not let this user do that: grant it the right, or use another user (${error.message})`
      : `This user may not use the database ${database}: is its name right? If so, grant the user its rights on our tables there (${error.message})`,
    { errno },
    because,
  )
}

/** Statements that need the rights which docs/guides/grants.md grants to a working user, one by one. None of them changes a row. */
export function rightsOfWorker({ migration, sequence, ...tables }: MysqlTables): readonly Statement[] {
  const { task, topic, owner, lane, activation, periodic, dependency, limit, slot, node, audit, turn, result, attempt } = tables
  const every = [task, owner, lane, activation, periodic, dependency, limit, slot, node]
  const unchanged = [topic, turn, result, attempt, audit]
  const none = raw('where 1 = 0')
  return [
    sql`select 1 from ${migration} ${none}`,
    ...[...every, ...unchanged].flatMap((table) => [
      sql`select 1 from ${table} ${none}`,
      sql`insert into ${table} select * from ${table} ${none}`,
    ]),
    ...[...every, ...unchanged].map((table) => sql`delete from ${table} ${none}`),
    ...every.map(
      (table) => sql`update ${table} set ${raw(table === owner || table === node ? 'name = name' : 'topic = topic')} ${none}`,
    ),
    sql`insert into ${sequence} select * from ${sequence} ${none}`,
  ]
}
