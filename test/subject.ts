/** The engine under test, which the vitest project names. */
import { flushCompileCache } from 'node:module'
import { raw } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import type { Engine } from '@taskstream/task-testing/suite'
import { factsOf } from './engines/registry.ts'
import type { EngineFacts } from './engines/registry.ts'
import { repositories } from './engines/subject.ts'
import type { Subject, Unmigrated } from './engines/subject.ts'

export type { AnyTransaction, Session, Tasks, TasksOptions } from '@taskstream/task-testing/suite'
export type { Repositories, Subject } from './engines/subject.ts'

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
  outcomes: facts.outcomes === true,
  synchronous: facts.family === 'sqlite' && !facts.promises,
  adapts: !facts.sealed,
  textType,
  open: () => openSubject(),
}

export interface OpenOptions {
  /** Whether to work with the least rights on any server of the suite's own. Default: as the engine does. */
  readonly leastPrivilege?: boolean
}

/** Opens an empty database with migrated tables. */
export async function openSubject({ leastPrivilege: least = leastPrivilege }: OpenOptions = {}): Promise<Subject> {
  if (subjectName === 'testing') return (await engineFiles.testing()).openTesting()
  const subject = await create(server ?? '', { ...facts, leastPrivilege: least })
  await subject.tasks().migrate(subject.owner.transactions)
  await subject.grant?.()
  return subject
}

/** A process of a test loads only its own engine: to load all drivers takes longer than most such processes live. */
const engineFiles = {
  libsql: () => import('./engines/libsql.ts'),
  mysql: () => import('./engines/mysql.ts'),
  oracle: () => import('./databases/oracle-subject.ts'),
  pglite: () => import('./engines/pglite.ts'),
  postgres: () => import('./engines/postgres.ts'),
  sqlite: () => import('./engines/sqlite.ts'),
  testing: () => import('./engines/testing.ts'),
}

async function create(direct: string, facts: EngineFacts): Promise<Unmigrated> {
  if (subjectName === 'libsql') return (await engineFiles.libsql()).createLibsql()
  if (subjectName === 'pglite') return (await engineFiles.pglite()).createPglite()
  if (isPostgres) return (await engineFiles.postgres()).createPostgres(facts, direct)
  if (isMysql) return (await engineFiles.mysql()).createMysql(subjectName, facts, direct)
  if (isOracle) return (await engineFiles.oracle()).createOracle(direct, repositories)
  return (await engineFiles.sqlite()).createSqlite(subjectName, facts)
}

/** Opens an existing database, as another process or thread does. */
export async function reopenSubject(location: Subject['location']): Promise<Subject> {
  const opened = await reopen(location)
  // Node.js keeps compiled code when a process ends, but the processes of these tests are killed.
  flushCompileCache()
  return opened
}

async function reopen({ subject, at }: Subject['location']): Promise<Subject> {
  if (subject === 'mariadb' || subject === 'mysql') return (await engineFiles.mysql()).openMysql(subject, at)
  if (subject === 'libsql') return (await engineFiles.libsql()).openLibsql(at)
  if (subject === 'oracle') return (await engineFiles.oracle()).openOracle(at, repositories)
  if (subject.startsWith('postgres')) return (await engineFiles.postgres()).openPostgres(at)
  return (await engineFiles.sqlite()).openSqlite(subject, at)
}
