/**
 * Processes that start at the same time can all migrate the same empty database, as when a service is deployed in several places.
 */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import type { Execution } from '@taskstream/task-api'
import { raw, sqlTaskRepository } from '@taskstream/task-sql'
import type { Dialect, Migration, Row, SchemaStatus, SqlAdapter } from '@taskstream/task-sql'
import { fromBetterSqlite3, sqlite } from '@taskstream/task-sql/better-sqlite3'
import { fromLibsql } from '@taskstream/task-sql/libsql'
import { fromMysql2, mariadb, mysql } from '@taskstream/task-sql/mysql2'
import { fromPg, postgres } from '@taskstream/task-sql/pg'
import { describe, expect, test } from 'vitest'
import { createDatabase } from '../databases/beside.ts'
import { canRun, openSubject, reopenSubject, subjectName } from '../subject.ts'
import type { AnyTransaction, Subject } from '../subject.ts'

const processes = 4
const releases: Readonly<Record<string, { readonly dialect: Dialect; readonly adapter: SqlAdapter<AnyTransaction> }>> = {
  postgres: {
    dialect: postgres({ partitioned: subjectName === 'postgres-partitioned' }),
    adapter: fromPg as SqlAdapter<AnyTransaction>,
  },
  sqlite: { dialect: sqlite(), adapter: fromBetterSqlite3 },
  libsql: { dialect: sqlite(), adapter: fromLibsql as SqlAdapter<AnyTransaction> },
  mariadb: { dialect: subjectName === 'mysql' ? mysql() : mariadb(), adapter: fromMysql2 as SqlAdapter<AnyTransaction> },
}

describe.skipIf(!canRun)('migrations by four processes at once', () => {
  test.for([0, 1])(
    'of a database at version %i apply each step once, and leave what one alone makes',
    async (version, { skip }) => {
      await using subject = await openSubject()
      skip(subject.connections === 1, 'In memory there is one connection, and so one process.')
      skip(subject.engine === 'oracle', 'Oracle has users instead of databases.')
      await using database = await createDatabase(subject)
      const { location } = database
      if (version > 0) await migrateTo(version, location)
      const migrators = Array.from({ length: processes }, () => startMigrator(location))
      try {
        const before = await Promise.all(migrators.map((migrator) => told<SchemaStatus>(migrator)))
        expect(before.map(({ found }) => found)).toEqual(Array.from({ length: processes }, () => version))
        // All processes are connected, and none has begun to migrate.
        const migrating = migrators.map((migrator) => told<Migration>(migrator))
        await using gate = await closeGate(location, version)
        for (const migrator of migrators) migrator.process.send('migrate')
        await gate.open()
        const migrations = await Promise.all(migrating)

        const [{ known: latest }] = before as [SchemaStatus]
        expect(migrations.map(({ to }) => to)).toEqual(Array.from({ length: processes }, () => latest))
        const began = migrations.filter(({ from }) => from === version)
        // MariaDB and MySQL commit each definition by itself, so a second process may begin at the same version and go on.
        if (subject.engine === 'mariadb') expect(began.length).toBeGreaterThan(0)
        else expect([began.length, migrations.filter(({ from }) => from === latest).length]).toEqual([1, processes - 1])
        await using migrated = await reopenSubject(location)
        const notes = await run(migrated, `select version from ${schemaOf(subject)}task_migration order by version`)
        expect(notes.map(({ version }) => Number(version))).toEqual(Array.from({ length: latest }, (_, index) => index + 1))
        expect(await definitionsOf(migrated)).toEqual(await definitionsOf(subject))
      } finally {
        for (const migrator of migrators) migrator.process.kill('SIGKILL')
      }
    },
  )
})

interface Migrator {
  readonly process: ChildProcess
  readonly stderr: Promise<string>
}

function startMigrator(location: Subject['location']): Migrator {
  const process = fork(new URL('migrator.ts', import.meta.url), [JSON.stringify(location)], {
    execArgv: ['--conditions=@taskstream/source'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  return { process, stderr: text(process.stderr!) }
}

/** Migrates as an earlier release would. */
async function migrateTo(version: number, location: Subject['location']): Promise<void> {
  await using subject = await reopenSubject(location)
  const { dialect, adapter } = (releases[location.subject] ?? releases[subject.engine])!
  const migrations = dialect.schema.migrations.filter((step) => step.version <= version)
  const former = sqlTaskRepository<AnyTransaction, Execution>({
    dialect: { ...dialect, schema: { ...dialect.schema, migrations } },
    adapter,
  })
  expect(await former.migrate(subject.transactions)).toEqual({ from: 0, to: version })
}

/** Keeps the processes from looking at the tables until all want to, on engines where that can be done. */
async function closeGate(location: Subject['location'], version: number): Promise<AsyncDisposable & { open(): Promise<void> }> {
  const subject = await reopenSubject(location)
  const isLocked = subject.engine === 'postgres' && version > 0
  const gate = await subject.session()
  // On SQLite this is enough, as there is one writer.
  await gate.begin()
  if (isLocked) await subject.execute(gate.transaction, raw('lock table taskstream.task_migration in access exclusive mode'))
  const waiting = async (): Promise<number> => {
    const statement = `select count(*) as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    const [row] = await run(subject, statement)
    return Number(row?.['count'])
  }
  return {
    open: async () => {
      if (isLocked) await expect.poll(waiting, { interval: 5 }).toBe(processes)
      await gate.rollback()
    },
    [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose](),
  }
}

/** Returns the next message of a process. Rejects if the process ends first. */
async function told<Message>({ process, stderr }: Migrator): Promise<Message> {
  // A process may have exited before its last message is read. It closes after that.
  const ended = once(process, 'close').then(async ([code, signal]) => {
    throw new Error(`A process ended with ${code ?? signal} before it had migrated: ${await stderr}`)
  })
  ended.catch(() => {})
  const [message] = await Promise.race([once(process, 'message'), ended])
  return message as Message
}

function run({ transactions, execute }: Subject, statement: string): Promise<readonly Row[]> {
  return transactions<readonly Row[]>((transaction) => execute(transaction, raw(statement)))
}

const schemaOf = ({ engine }: Subject): string => (engine === 'postgres' ? 'taskstream.' : '')

async function definitionsOf(subject: Subject): Promise<readonly unknown[]> {
  const { engine } = subject
  if (engine === 'sqlite') return run(subject, 'select type, name, sql from sqlite_master order by type, name')
  const schema = engine === 'postgres' ? `'taskstream'` : 'database()'
  const columns = await run(
    subject,
    `select table_name as t, column_name as c, data_type as d, column_default as f, is_nullable as n
       from information_schema.columns where table_schema = ${schema} order by 1, 2`,
  )
  const indexes = await run(
    subject,
    engine === 'postgres'
      ? `select indexname as i, indexdef as d from pg_indexes where schemaname = ${schema} order by 1`
      : `select table_name as t, index_name as i, seq_in_index as p, column_name as c
           from information_schema.statistics where table_schema = ${schema} order by 1, 2, 3`,
  )
  return [...columns, ...indexes]
}
