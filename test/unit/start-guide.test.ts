/** The first programs, of the first page and for each driver, run as they stand: each writes its row, handles its job, and ends on Ctrl-C. */
import { spawn } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import { expect, test } from 'vitest'
import { generatePrismaClient } from '../drivers/prisma.ts'
import { output } from '../e2e/command-line.ts'

const root = join(import.meta.dirname, '..', '..')
const postgresServer = process.env['TASKSTREAM_POSTGRES_SERVER'] ?? ''
const mariadbServer = process.env['TASKSTREAM_MARIADB_SERVER'] ?? ''

interface Program {
  readonly name: string
  readonly page: string
  readonly code: string
}

const programs: readonly Program[] = ['index.md', ...globSync('start/*.md', { cwd: join(root, 'docs') }).toSorted()].map(
  (path) => {
    const page = readFileSync(join(root, 'docs', path), 'utf8')
    return { name: basename(path, '.md'), page, code: /^```ts\n(.*?)^```$/ms.exec(page)?.[1] ?? '' }
  },
)
const withPostgres = programs.filter(({ code }) => code.includes('DATABASE_URL'))
const withMariaDb = programs.filter(({ code }) => code.includes('MARIADB_URL'))
const withSqlite = programs.filter((program) => !withPostgres.includes(program) && !withMariaDb.includes(program))

async function makeFolder(page: string): Promise<string> {
  const schema = /^```prisma\n(.*?)^```$/ms.exec(page)?.[1]
  if (schema !== undefined) return generatePrismaClient('postgresql', schema)
  const folder = mkdtempSync(join(tmpdir(), 'taskstream-start-'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** Runs a program in a folder of its own, twice, as a reader who is curious does. */
async function run(
  { page, code }: Program,
  env: Readonly<Record<string, string>>,
  look?: (folder: string) => void,
): Promise<void> {
  const folder = await makeFolder(page)
  try {
    const file = /^Save .* as `(app\.m?ts)`/m.exec(page)?.[1] ?? ''
    writeFileSync(join(folder, 'package.json'), page.includes('npm pkg set type=module') ? '{ "type": "module" }' : '{}')
    writeFileSync(join(folder, file), code)
    for (let round = 0; round < 2; round++) {
      const child = spawn(process.execPath, ['--conditions=@taskstream/source', '--disable-warning=ExperimentalWarning', file], {
        cwd: folder,
        env: { ...process.env, ...env },
      })
      const app = output(child)
      await app.until(/^to ann@example\.org: Welcome$/m)
      child.kill('SIGINT')
      expect(await app.ended).toEqual({ code: 0, out: 'to ann@example.org: Welcome\n', err: '' })
    }
    look?.(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('there is a first program for each database and each common library', () => {
  expect(withSqlite.map(({ name }) => name)).toEqual(['index', 'sqlite'])
  expect(withPostgres.map(({ name }) => name)).toEqual(['drizzle', 'knex', 'pg', 'postgres-js', 'prisma', 'typeorm'])
  expect(withMariaDb.map(({ name }) => name)).toEqual(['mariadb'])
})

test('the program of the first page has no more than fifteen lines', () => {
  expect(programs[0]!.code.trim().split('\n').length).toBeLessThanOrEqual(15)
})

test.each(withSqlite)('the first program of $name writes its row, handles its job, and ends on Ctrl-C', async (program) => {
  await run(program, {}, (folder) => {
    const database = new DatabaseSync(join(folder, 'app.db'))
    expect(database.prepare('select count(*) as rows, min(name) as name from customer').get()).toEqual({ rows: 2, name: 'Ann' })
    database.close()
  })
})

test.skipIf(postgresServer === '').each(withPostgres)(
  'the first program of $name writes its row, handles its job, and ends on Ctrl-C',
  async (program) => {
    const database = `taskstream_start_${program.name.replaceAll('-', '_')}`
    const admin = new pg.Client({ connectionString: postgresServer })
    await admin.connect()
    await admin.query(`create database ${database}`)
    const url = new URL(postgresServer)
    url.pathname = `/${database}`
    try {
      await run(program, { DATABASE_URL: url.href })
      const reader = new pg.Client({ connectionString: url.href })
      await reader.connect()
      expect((await reader.query('select name from customer')).rows).toEqual([{ name: 'Ann' }, { name: 'Ann' }])
      await reader.end()
    } finally {
      await admin.query(`drop database ${database} with (force)`)
      await admin.end()
    }
  },
)

test.skipIf(mariadbServer === '').each(withMariaDb)(
  'the first program of $name writes its row, handles its job, and ends on Ctrl-C',
  async (program) => {
    const database = `taskstream_start_${program.name}`
    const admin = await createConnection({ uri: mariadbServer })
    await admin.query(`create database ${database}`)
    const url = new URL(mariadbServer)
    url.pathname = `/${database}`
    try {
      await run(program, { MARIADB_URL: url.href })
      expect((await admin.query(`select name from ${database}.customer`))[0]).toEqual([{ name: 'Ann' }, { name: 'Ann' }])
    } finally {
      await admin.query(`drop database ${database}`)
      await admin.end()
    }
  },
)
