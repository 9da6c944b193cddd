/** The servers of a whole run, and a word at the end on which engines ran. */
import type { TestProject } from 'vitest/node'
import { hasGalera } from './galera.ts'
import { NotInstalled, startInstalled } from './installed.ts'
import { startMariaDb } from './mariadb-server.ts'
import { startPgBouncer } from './pgbouncer.ts'
import { startPostgres } from './postgres-server.ts'
import type { PostgresServerOptions } from './postgres-server.ts'

const sqliteEngines: Readonly<Record<string, string>> = {
  'sqlite-memory': 'SQLite in memory (better-sqlite3)',
  'sqlite-file': 'SQLite in files (better-sqlite3)',
  'node-sqlite': 'SQLite in files (node:sqlite)',
  testing: 'SQLite in memory (node:sqlite, by task-testing)',
}
const settings = { max_connections: '300' }
const isRequired = (engine: string): boolean => Boolean(process.env[`REQUIRE_${engine}`])

export default async function setup({ vitest }: TestProject): Promise<() => Promise<void>> {
  // What `--project` left out did not run.
  const chosen = new Set(vitest.projects.map(({ name }) => name))
  const ran = Object.keys(sqliteEngines).flatMap((name) => (chosen.has(name) ? (sqliteEngines[name] ?? []) : []))
  const skipped = [
    'PostgreSQL 16 and 17: npm run test:containers -- --engine postgres:17 runs the suite in a container; TASKSTREAM_POSTGRES_URL=postgres://… npm test on a server of yours, in databases of its own',
  ]
  // Where one does not start, those before it are stopped.
  await using starting = new AsyncDisposableStack()
  /** Says where the suite finds the server. */
  const open = async <Server extends { readonly url: string; readonly version: string; stop(): Promise<void> }>(
    name: string,
    required: boolean,
    variable: string,
    start: () => Promise<Server>,
    told = '',
  ): Promise<void> => {
    const server = await startInstalled(name, required, start)
    if (server) {
      starting.defer(() => server.stop())
      process.env[variable] = server.url
      ran.push(`${name} ${server.version}${told}`)
    } else skipped.push(`${name}: it is not installed`)
  }
  const openPostgres = (name: string, variable: string, options: PostgresServerOptions): Promise<void> =>
    open(
      name,
      isRequired('POSTGRES') || Boolean(process.env['CI']),
      variable,
      () => startPostgres({ settings, ...options }),
      ', from npm binaries',
    )

  const given = process.env['TASKSTREAM_POSTGRES_URL']
  if (!['postgres-18', 'postgres-given', 'postgres-partitioned', 'pgbouncer', 'unit'].some((name) => chosen.has(name))) {
    skipped.push('PostgreSQL: left out by --project')
  } else if (given) {
    process.env['TASKSTREAM_POSTGRES_SERVER'] = given
    ran.push('PostgreSQL at TASKSTREAM_POSTGRES_URL')
  } else await openPostgres('PostgreSQL', 'TASKSTREAM_POSTGRES_SERVER', {})
  if (chosen.has('postgres-15')) await openPostgres('PostgreSQL', 'TASKSTREAM_POSTGRES_15_SERVER', { release: 15 })

  if (chosen.has('pgbouncer')) {
    const startPooler = async (): ReturnType<typeof startPgBouncer> => {
      const server = process.env['TASKSTREAM_POSTGRES_SERVER']
      if (!server) throw new NotInstalled('there is no PostgreSQL for it')
      return startPgBouncer(server)
    }
    const told = ' in transaction mode, before that PostgreSQL'
    await open('PgBouncer', isRequired('PGBOUNCER'), 'TASKSTREAM_PGBOUNCER', startPooler, told)
  }

  if (chosen.has('mysql')) ran.push('MySQL at TASKSTREAM_MYSQL_URL')
<<<<<<< HEAD
  else
=======
  else skipped.push('MySQL: TASKSTREAM_MYSQL_URL=mysql://… npm test runs the suite on a server of yours, in databases of its own')

  const oracle = process.env['TASKSTREAM_ORACLE_URL']
  if (!chosen.has('oracle')) {
>>>>>>> 93b71a7 (An engine that is installed and does not start is a failure, with or without CI)
    skipped.push(
      'MySQL: npm run test:containers -- --engine mysql runs the suite in a container; TASKSTREAM_MYSQL_URL=mysql://… npm test on a server of yours, in databases of its own',
    )
<<<<<<< HEAD
  if (chosen.has('oracle')) ran.push('Oracle at TASKSTREAM_ORACLE_URL')
  else
    skipped.push(
      'Oracle: its statements are checked, and nothing is run; npm run test:containers -- --engine oracle-free runs the suite in a container; TASKSTREAM_ORACLE_URL=oracle://… npm test on a server of yours, in users of its own',
    )
  const givenMariaDb = process.env['TASKSTREAM_MARIADB_URL']
  if ((chosen.has('mariadb') || chosen.has('unit')) && givenMariaDb) {
    process.env['TASKSTREAM_MARIADB_SERVER'] = givenMariaDb
    ran.push('MariaDB at TASKSTREAM_MARIADB_URL')
  } else if (chosen.has('mariadb') || chosen.has('unit')) {
    try {
      const mariadb = await startMariaDb()
      process.env['TASKSTREAM_MARIADB_SERVER'] = mariadb.url
      ran.push(`MariaDB ${mariadb.version}`)
      const stopOthers = stop
      stop = async () => {
        await mariadb.stop()
        await stopOthers()
      }
    } catch (error) {
      if (process.env['REQUIRE_MARIADB']) {
        await stop()
        throw error
      }
      skipped.push(`MariaDB: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
=======
  } else if (oracle) {
    process.env['TASKSTREAM_ORACLE_SERVER'] = oracle
    ran.push('Oracle at TASKSTREAM_ORACLE_URL')
  } else await open('Oracle in a container,', isRequired('ORACLE'), 'TASKSTREAM_ORACLE_SERVER', startOracle)

  if (chosen.has('mariadb') || chosen.has('unit'))
    await open('MariaDB', isRequired('MARIADB'), 'TASKSTREAM_MARIADB_SERVER', startMariaDb)
  if (chosen.has('mariadb') && process.env['TASKSTREAM_MARIADB_SERVER'] && !hasGalera) {
    await startInstalled('Galera', isRequired('MARIADB'), () =>
      Promise.reject(new NotInstalled('it needs galera-4 and rsync (apt-get install galera-4 rsync)')),
    )
    skipped.push('Galera: it is not installed')
  }

  const started = starting.move()
>>>>>>> 93b71a7 (An engine that is installed and does not start is a failure, with or without CI)
  return async () => {
    await started.disposeAsync()
    console.log(`\nEngines that ran:\n${list(ran)}\nSkipped:\n${list(skipped)}\n`)
  }
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `  - ${line}`).join('\n')
}
