/** A PostgreSQL database that is saved, dropped, renamed and loaded again while processes are connected to it. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { administratorOf } from '../databases/least-privilege.ts'
import { openPostgres } from '../engines/postgres.ts'
import { openSubject } from '../subject.ts'
import type { Tasks } from '../subject.ts'
import { prepare } from './restored.ts'
import type { Process } from './restored.ts'

export interface Replaced extends AsyncDisposable {
  /** Opens another process with connections of its own, to this database or to a saved one, and initialises its topic. */
  open(tasks?: Tasks, saved?: string): Promise<Process>
  run(statement: string): Promise<void>
  /** Copies the database as it is now. */
  save(name: string): Promise<void>
  drop(): Promise<void>
  /** Renames the database, so that its name is free. */
  rename(name: string): Promise<void>
  /** Puts a saved copy in its place. */
  restore(name: string): Promise<void>
  /** Makes an empty database of its name. */
  create(): Promise<void>
  /** Empties its tables. */
  empty(): Promise<void>
  /** Copies the rows of the tables. @returns a function that empties the tables and loads the copy */
  copyTables(): Promise<() => Promise<void>>
  /** Dumps the database to a file. @returns a function that loads the dump */
  dump(...options: readonly string[]): () => void
}

const tables = [
  'task_migration',
  'task',
  'task_topic',
  'task_owner',
  'task_holding',
  'task_lane',
  'task_turn',
  'task_activation',
  'task_periodic',
  'task_result',
  'task_attempt',
  'task_dependency',
  'task_limit',
  'task_slot',
  'task_node',
  'task_audit',
]
const empty = `truncate ${tables.map((table) => `taskstream.${table}`).join(', ')}`

/**
 * Returns the command of the release under test; pg_restore stands beside it. @throws Error if the command is required and missing
 */
export function findPgDump(): string | undefined {
  const folders = ['/usr/lib/postgresql/15/bin', ...(process.env['PATH'] ?? '').split(':')]
  const found = folders.map((folder) => join(folder, 'pg_dump')).find((path) => existsSync(path) && isRelease(path, 15))
  if (!found && process.env['REQUIRE_PG_DUMP']) throw new Error('pg_dump 15 is not there: apt-get install postgresql-client-15')
  return found
}

function isRelease(command: string, release: number): boolean {
  return execFileSync(command, ['--version'], { encoding: 'utf8' }).includes(` ${release}.`)
}

export async function openReplaced(): Promise<Replaced> {
  const stack = new AsyncDisposableStack()
  const subject = stack.use(await openSubject())
  const url = subject.location.at
  const [, name = ''] = new URL(url).pathname.split('/')
  const at = (database: string): string => Object.assign(new URL(url), { pathname: `/${database}` }).href
  const nameOf = (saved: string): string => `${name}_${saved}`
  const saved = new Set<string>()
  const ask = async (database: string, statement: string): Promise<void> => {
    const client = new pg.Client({ connectionString: administratorOf(at(database)) })
    await client.connect()
    await client.query(statement).finally(() => client.end())
  }
  const disconnect = (): Promise<void> =>
    ask('postgres', `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${name}'`)
  stack.defer(async () => {
    for (const each of saved) await ask('postgres', `drop database if exists ${nameOf(each)} with (force)`)
  })
  return {
    open: async (tasks, other) => {
      const { tasks: make, transactions } = stack.use(await openPostgres(at(other === undefined ? name : nameOf(other))))
      const opened = { tasks: tasks ?? make(), transactions }
      await prepare(opened)
      return opened
    },
    run: (statement) => ask(name, statement),
    save: async (copy) => {
      saved.add(copy)
      // PostgreSQL copies a database only if nobody is connected to it.
      await disconnect()
      await ask('postgres', `create database ${nameOf(copy)} template ${name}`)
    },
    drop: () => ask('postgres', `drop database ${name} with (force)`),
    rename: async (other) => {
      saved.add(other)
      await disconnect()
      await ask('postgres', `alter database ${name} rename to ${nameOf(other)}`)
    },
    restore: async (copy) => {
      saved.delete(copy)
      await ask('postgres', `alter database ${nameOf(copy)} rename to ${name}`)
    },
    create: () => ask('postgres', `create database ${name}`),
    empty: () => ask(name, empty),
    copyTables: async () => {
      const copies = tables.map((table) => `create table saved.${table} as table taskstream.${table};`)
      await ask(
        name,
        `create schema saved; ${copies.join(' ')} create table saved.drawn as select last_value from taskstream.task_sequence`,
      )
      const loads = tables.map((table) => `insert into taskstream.${table} select * from saved.${table};`)
      return () =>
        ask(
          name,
          `${empty}; ${loads.join(' ')}
           select setval('taskstream.task_sequence', last_value) from saved.drawn`,
        )
    },
    dump: (...options) => {
      const file = join(tmpdir(), `taskstream-dump-${randomBytes(6).toString('hex')}`)
      stack.defer(() => rmSync(file, { force: true }))
      const command = findPgDump() ?? ''
      execFileSync(command, ['--format=custom', `--file=${file}`, ...options, administratorOf(at(name))])
      return () =>
        execFileSync(command.replace(/dump$/, 'restore'), [
          '--exit-on-error',
          ...options,
          `--dbname=${administratorOf(at(name))}`,
          file,
        ])
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
