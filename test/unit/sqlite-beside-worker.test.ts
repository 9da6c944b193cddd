/** What the documents have users write for SQLite, again and again beside a worker in another process. */
import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromBetterSqlite3, openBetterSqlite3, sqlite, sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const guide = readFileSync(join(root, 'docs', 'guides', 'drivers', 'sqlite.md'), 'utf8')
const rounds = 40

/** The program that the guide has for a driver, as often as that. Each round opens the file anew, as a process does. */
function repeated(driver: string): string {
  const code = guide.split(`## ${driver}\n\n\`\`\`ts\n`)[1]?.split('```')[0]
  if (code === undefined) throw new Error(`The guide has no program for ${driver}`)
  const lines = code.split('\n')
  const imports = lines.filter((line) => line.startsWith('import '))
  const body = lines.filter((line) => !line.startsWith('import '))
  return [...imports, `for (let round = 0; round < ${rounds}; round++) {`, ...body, '}', 'process.exit()'].join('\n')
}

test.each(['better-sqlite3', 'node:sqlite', 'Drizzle on SQLite'])(
  'the example for %s never finds the file locked by a worker in another process',
  async (driver) => {
    const folder = mkdtempSync(join(tmpdir(), 'taskstream-beside-'))
    const file = join(folder, 'tasks.db')
    const database = await openBetterSqlite3(file)
    const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromBetterSqlite3 })
    await tasks.migrate(sqliteTransactions(database))
    database.exec('create table invoice (id text)')
    database.transaction(() => tasks.initialize(database, 'invoices')).immediate()
    const env = { ...process.env, DATABASE_FILE: file }
    const flags = ['--no-warnings', '--conditions=@taskstream/source']
    const worker = fork(new URL('sqlite-worker.ts', import.meta.url), { env, execArgv: flags })
    const ended = once(worker, 'exit')
    await once(worker, 'message')
    const { error, stderr } = await new Promise<{ error: unknown; stderr: string }>((resolve) => {
      const program = ['--input-type=module-typescript', '--eval', repeated(driver)]
      execFile(process.execPath, [...flags, ...program], { cwd: root, env }, (failed, _, text) =>
        resolve({ error: failed, stderr: text }),
      )
    })
    expect([stderr, error]).toEqual(['', null])
    const handled = (): unknown[] => tasks.page(database, 'invoices', { states: ['succeeded'], size: 1_000 })
    await expect.poll(() => handled().length, { timeout: 30_000 }).toBe(rounds)
    worker.disconnect()
    await ended
    database.close()
    rmSync(folder, { recursive: true })
  },
)
