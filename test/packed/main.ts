/**
 * The quick start as a newcomer does it: the packages are packed, and installed in an empty folder beside one driver, and a first job is handled
 * there. `npm run test:packed -- pg mysql2` tries these drivers, and without names all of them. PostgreSQL and MariaDB are started for it.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import Table from 'cli-table3'
import mysql from 'mysql2/promise'
import { startMariaDb } from '../databases/mariadb-server.ts'
import { startPostgres } from '../databases/postgres-server.ts'
import { packPackages } from './tarballs.ts'
import { programOf, ways } from './ways.ts'
import type { Way } from './ways.ts'

const run = promisify(execFile)

const asked = process.argv.slice(2)
const unknown = asked.find((name) => !(name in ways))
if (unknown !== undefined) throw new Error(`There is no driver "${unknown}": name some of ${Object.keys(ways).join(', ')}`)

await using stack = new AsyncDisposableStack()
const folder = await mkdtemp(join(tmpdir(), 'taskstream-packed-'))
stack.defer(() => rm(folder, { recursive: true, force: true }))

/** Installs the tarballs and a driver, and handles a job. @returns what was printed, or the error */
async function tryOut(name: string, way: Way, tarballs: readonly string[], url: string): Promise<string> {
  const project = join(folder, name)
  await run('mkdir', [project])
  await writeFile(join(project, 'package.json'), JSON.stringify({ type: 'module', private: true }))
  await writeFile(join(project, 'greet.ts'), programOf(way))
  try {
    const packages = way.install === undefined ? [] : [way.install]
    await run('npm', ['install', '--silent', '--no-audit', '--no-fund', ...tarballs, ...packages], { cwd: project })
    const { stdout } = await run(process.execPath, ['--no-warnings', 'greet.ts'], {
      cwd: project,
      timeout: 60_000,
      env: { ...process.env, DATABASE_URL: url },
    })
    return stdout.trim()
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string }
    return (stderr || message).trim().split('\n').slice(0, 6).join('\n')
  }
}

/** A new server of MariaDB has no database of ours. */
async function withDatabase(url: string): Promise<string> {
  const connection = await mysql.createConnection(url)
  await connection.query('create database greet')
  await connection.end()
  return new URL('greet', url).href
}

console.log('The packages are built and packed …')
const packed = await packPackages(folder)
const tarballs = packed.map(({ path }) => path)
const chosen = Object.entries(ways).filter(([name]) => asked.length === 0 || asked.includes(name))
const has = (server: Way['server']): boolean => chosen.some(([, way]) => way.server === server)
const servers = {
  postgres: has('postgres') ? stack.use(await startPostgres()).url : '',
  mariadb: has('mariadb') ? await withDatabase(stack.use(await startMariaDb()).url) : '',
  none: '',
}

const table = new Table({ head: ['driver', 'seconds', 'printed'], style: { head: [], border: [] } })
for (const [name, way] of chosen) {
  console.log(`${name} …`)
  const started = performance.now()
  const printed = await tryOut(name, way, tarballs, servers[way.server])
  if (printed !== 'Hello, Ann: 3 letters') process.exitCode = 1
  table.push([name, ((performance.now() - started) / 1_000).toFixed(1), printed])
}
console.log(table.toString())
if (process.exitCode) console.error('Not every driver has greeted.')
