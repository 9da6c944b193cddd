/** Every example of the guides to drivers is run as it stands there, and has committed a row and a task. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Execution } from '@taskstream/task-api'
import { sql, sqlTaskRepository } from '@taskstream/task-sql'
import type { SqlAdapter } from '@taskstream/task-sql'
import { fromBetterSqlite3, openBetterSqlite3, sqlite, sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'
import { fromMysql2, mariadb, mysql2Transactions } from '@taskstream/task-sql/mysql2'
import { fromPg, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import { createConnection, createPool } from 'mysql2/promise'
import pg from 'pg'
import { expect, test } from 'vitest'
import { generatePrismaClient } from '../drivers/prisma.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'

const root = join(import.meta.dirname, '..', '..')
const guide = ['postgresql', 'mariadb', 'oracle', 'sqlite']
  .map((page) => readFileSync(join(root, 'docs', 'guides', 'drivers', `${page}.md`), 'utf8'))
  .join('\n')
const examples = [...guide.matchAll(/^## (.+)\n\n```ts\n([^`]*(?:`(?!``)[^`]*)*)```/gm)].map(([, name, code = '']) => ({
  name,
  code,
}))
const server = process.env['TASKSTREAM_POSTGRES_SERVER'] ?? ''
const mariadbServer = process.env['TASKSTREAM_MARIADB_SERVER'] ?? ''

/** The schema that the guide gives for all of Prisma's examples. */
const prismaSchema = /^```prisma\n([^`]*)```/m.exec(guide)?.[1] ?? ''

/** Where the example finds what it imports: here, or beside a client that was generated for it. */
async function placeOf(code: string): Promise<string> {
  const adapter = /@prisma\/adapter-(\w+)/.exec(code)?.[1]
  if (adapter === undefined) return root
  return generatePrismaClient(adapter === 'pg' ? 'postgresql' : adapter === 'mariadb' ? 'mysql' : 'sqlite', prismaSchema)
}

async function run(code: string, env: Record<string, string>): Promise<void> {
  const cwd = await placeOf(code)
  const flags = ['--conditions=@taskstream/source', '--input-type=module-typescript', '--eval', `${code}\nprocess.exit()`]
  return new Promise((resolve, reject) => {
    execFile(process.execPath, flags, { cwd, env: { ...process.env, ...env } }, (error) => (error ? reject(error) : resolve()))
  })
}

async function expectCommitted<E extends Execution>(
  env: Record<string, string>,
  code: string,
  transactions: (work: (transaction: AnyTransaction) => Promise<unknown>) => Promise<unknown>,
  adapter: SqlAdapter<AnyTransaction, E>,
): Promise<void> {
  const tasks = sqlTaskRepository({
    dialect: env['DATABASE_URL'] ? postgres() : env['MARIADB_URL'] ? mariadb() : sqlite(),
    adapter,
  }) as unknown as Tasks
  await tasks.migrate(transactions as Parameters<Tasks['migrate']>[0])
  await transactions(async (transaction) => {
    await adapter.execute(transaction, sql`create table invoice (id text)`)
    await tasks.initialize(transaction, 'invoices')
  })
  await run(code, env)
  await transactions(async (transaction) => {
    expect(await adapter.execute(transaction, sql`select id from invoice`)).toEqual([{ id: 'inv-1' }])
    expect(await tasks.page(transaction, 'invoices')).toMatchObject([{ identifier: 'inv-1', state: 'ready' }])
  })
}

test('the guide has an example for each driver', () => {
  expect(examples.map(({ name }) => name)).toEqual([
    'pg',
    'postgres.js',
    'Kysely',
    'Drizzle',
    'Knex',
    'TypeORM',
    'Prisma',
    'mysql2',
    'Kysely on MariaDB',
    'Drizzle on MariaDB',
    'Knex on MariaDB',
    'TypeORM on MariaDB',
    'Prisma on MariaDB',
    'oracledb',
    'better-sqlite3',
    'node:sqlite',
    'libSQL',
    'Kysely on SQLite',
    'Drizzle on SQLite',
    'Knex on SQLite',
    'TypeORM on SQLite',
    'Prisma on SQLite',
  ])
})

/** There is no server to run it on: it is type-checked as a file. */
test("the guide's example for oracledb is examples/oracledb.ts", () => {
  const { code } = examples.find(({ name }) => name === 'oracledb')!
  expect(code).toBe(readFileSync(join(root, 'examples', 'oracledb.ts'), 'utf8'))
})

const onPostgres = examples.filter(({ code }) => code.includes('DATABASE_URL'))
const onMariaDb = examples.filter(({ code }) => code.includes('MARIADB_URL'))
const onSqlite = examples.filter(({ code }) => code.includes('DATABASE_FILE'))

test('each example of the guide but that for oracledb is one that is run here', () => {
  const run = [onPostgres, onMariaDb, onSqlite].flat()
  expect(run.map(({ name }) => name).toSorted()).toEqual(
    examples.flatMap(({ name }) => (name === 'oracledb' ? [] : [name])).toSorted(),
  )
})

test.skipIf(server === '').each(onPostgres)("the guide's example for $name commits a row and a task", async ({ name, code }) => {
  const database = `taskstream_guide_${name?.replaceAll(/\W/g, '').toLowerCase()}`
  const admin = new pg.Client({ connectionString: server })
  await admin.connect()
  await admin.query(`create database ${database}`)
  const url = new URL(server)
  url.pathname = `/${database}`
  const pool = new pg.Pool({ connectionString: url.href })
  // The database is dropped while connections are still being closed.
  pool.on('error', () => {})
  await expectCommitted({ DATABASE_URL: url.href }, code, pgTransactions(pool), fromPg)
  await pool.end()
  await admin.query(`drop database ${database} with (force)`)
  await admin.end()
})

test.skipIf(mariadbServer === '').each(onMariaDb)(
  "the guide's example for $name commits a row and a task",
  async ({ name, code }) => {
    const database = `taskstream_guide_${name?.replaceAll(/\W/g, '').toLowerCase()}`
    const admin = await createConnection({ uri: mariadbServer })
    await admin.query(`create database ${database}`)
    const url = new URL(mariadbServer)
    url.pathname = `/${database}`
    const pool = createPool({ uri: url.href })
    await expectCommitted({ MARIADB_URL: url.href }, code, mysql2Transactions(pool), fromMysql2)
    await pool.end()
    await admin.query(`drop database ${database}`)
    await admin.end()
  },
)

test.each(onSqlite)("the guide's example for $name commits a row and a task", async ({ code }) => {
  const folder = mkdtempSync(join(tmpdir(), 'taskstream-guide-'))
  const file = join(folder, 'tasks.db')
  const db = await openBetterSqlite3(file)
  await expectCommitted({ DATABASE_FILE: file }, code, sqliteTransactions(db), fromBetterSqlite3)
  db.close()
  rmSync(folder, { recursive: true })
})
