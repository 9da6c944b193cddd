/** The engine under test, which the vitest project names. */
import { raw } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import type { Engine } from '@taskstream/task-testing/suite'
import { createOracle, openOracle } from './databases/oracle-subject.ts'
import { createMysql, openMysql } from './engines/mysql.ts'
import { createLibsql, openLibsql } from './engines/libsql.ts'
import { createPglite } from './engines/pglite.ts'
import { createPostgres, openPostgres } from './engines/postgres.ts'
import { factsOf } from './engines/registry.ts'
import { createSqlite, openSqlite } from './engines/sqlite.ts'
import { repositories } from './engines/subject.ts'
import type { Subject, Unmigrated } from './engines/subject.ts'
import { openTesting } from './engines/testing.ts'

export type { AnyTransaction, Session, Tasks, TasksOptions } from '@taskstream/task-testing/suite'
export type { Repositories, Subject } from './engines/subject.ts'
export { openPostgres } from './engines/postgres.ts'
export { openSqlite } from './engines/sqlite.ts'

/** The name that the vitest project gives. */
export const subjectName: string = process.env['TASKSTREAM_SUBJECT'] ?? 'sqlite-memory'
const facts = factsOf(subjectName)
const server = facts.server === undefined ? undefined : process.env[facts.server]

/** PostgreSQL behind a pooler counts as PostgreSQL. */
export const isPostgres: boolean = facts.family === 'postgres'
export const isMysql: boolean = facts.family === 'mysql'
export const isOracle: boolean = facts.family === 'oracle'

/** Whether this project's engine can run here. If not, the global setup says why. */
export const canRun: boolean =
  facts.server === undefined || (server !== undefined && (!facts.pooled || process.env['TASKSTREAM_PGBOUNCER'] !== undefined))

/** Whether the suite works with the least rights. Not every engine does, so each promise is also tested with every right. */
export const leastPrivilege: boolean = facts.leastPrivilege === true

const textType = isOracle ? 'varchar2(1000)' : 'text'
/** The type of a text column in a test's own table. */
export const textColumn: Statement = raw(textType)

/** The facts about the engine that the suite needs. */
export const engine: Engine<Subject> = {
  name: subjectName,
  family: facts.family,
  connections: facts.connections,
  writers: facts.writers,
  synchronous: facts.family === 'sqlite' && !facts.promises,
  adapts: !facts.sealed,
  textType,
  open: openSubject,
}

/** Opens an empty database with migrated tables. */
export async function openSubject(): Promise<Subject> {
  if (subjectName === 'testing') return openTesting()
  const subject = await create(server ?? '')
  await subject.tasks().migrate(subject.owner.transactions)
  await subject.grant?.()
  return subject
}

function create(direct: string): Promise<Unmigrated> {
  if (subjectName === 'libsql') return createLibsql()
  if (subjectName === 'pglite') return createPglite()
  if (isPostgres) return createPostgres(facts, direct)
  if (isMysql) return createMysql(subjectName, facts, direct)
  return isOracle ? createOracle(direct, repositories) : createSqlite(subjectName, facts)
}

/** Opens an existing database, as another process or thread does. */
export function reopenSubject({ subject, at }: Subject['location']): Promise<Subject> {
  if (subject === 'mariadb' || subject === 'mysql') return openMysql(subject, at)
  if (subject === 'libsql') return openLibsql(at)
  if (subject === 'oracle') return openOracle(at, repositories)
  return subject.startsWith('postgres') ? openPostgres(at) : openSqlite(subject, at)
}
