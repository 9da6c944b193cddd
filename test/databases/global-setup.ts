/** Starts the servers of a whole run, and says at the end which engines ran. */
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { hasGalera } from './galera.ts'
import { NotInstalled, startInstalled } from './installed.ts'
import { startMariaDb } from './mariadb-server.ts'
import { startPgBouncer } from './pgbouncer.ts'
import { startPostgres } from './postgres-server.ts'
import { hasChromium } from '../e2e/chromium.ts'
import { engineNames, factsOf } from '../engines/registry.ts'
import type { PostgresServerOptions } from './postgres-server.ts'

const settings = { max_connections: '300' }
const isRequired = (engine: string): boolean => Boolean(process.env[`REQUIRE_${engine}`])

/** Where the programs that tests start keep their compiled code: most of the life of such a process was compiling it. */
const compiled = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'taskstream-compiled')

export default async function setup({ vitest }: TestProject): Promise<() => Promise<void>> {
  process.env['NODE_COMPILE_CACHE'] ??= compiled
  // Projects that `--project` left out do not run.
  const chosen = new Set(vitest.projects.map(({ name }) => name))
  const tier = process.env['TASKSTREAM_TIER']
  // The examples of the docs run on PostgreSQL, and those of the guide to drivers on MariaDB too.
  const [unitNeedsPostgres, unitNeedsMariaDb] = [chosen.has('unit') && tier !== 'quick', chosen.has('unit') && tier === 'all']
  const ran = engineNames
    .filter((name) => chosen.has(name) && factsOf(name).server === undefined)
    .map((name) => factsOf(name).about)
  const skipped = [
    'PostgreSQL 16 and 17: npm run test:containers -- --engine postgres:17 runs the suite in a container; TASKSTREAM_POSTGRES_URL=postgres://… npm run test:all on a server of yours, in databases of its own',
  ]
  // If a server does not start, the servers before it are stopped.
  await using starting = new AsyncDisposableStack()
  /** Starts a server and tells the suite its address. */
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
  if (
    !unitNeedsPostgres &&
    !['postgres-18', 'postgres-given', 'postgres-partitioned', 'postgres-outcomes', 'pgbouncer'].some((name) => chosen.has(name))
  ) {
    skipped.push('PostgreSQL: not asked for')
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
  else
    skipped.push(
      'MySQL: npm run test:containers -- --engine mysql runs the suite in a container; TASKSTREAM_MYSQL_URL=mysql://… npm run test:all on a server of yours, in databases of its own',
    )
  if (chosen.has('oracle')) ran.push('Oracle at TASKSTREAM_ORACLE_URL')
  else
    skipped.push(
      'Oracle: its statements are checked, and nothing is run; npm run test:containers -- --engine oracle-free runs the suite in a container; TASKSTREAM_ORACLE_URL=oracle://… npm run test:all on a server of yours, in users of its own',
    )

  const givenMariaDb = process.env['TASKSTREAM_MARIADB_URL']
  if (!chosen.has('mariadb') && !unitNeedsMariaDb) skipped.push('MariaDB: not asked for')
  else if (givenMariaDb) {
    process.env['TASKSTREAM_MARIADB_SERVER'] = givenMariaDb
    ran.push('MariaDB at TASKSTREAM_MARIADB_URL')
  } else await open('MariaDB', isRequired('MARIADB'), 'TASKSTREAM_MARIADB_SERVER', startMariaDb)
  if (chosen.has('mariadb') && process.env['TASKSTREAM_MARIADB_SERVER'] && !givenMariaDb && !hasGalera) {
    await startInstalled('Galera', isRequired('MARIADB'), () =>
      Promise.reject(new NotInstalled('it needs galera-4 and rsync (apt-get install galera-4 rsync)')),
    )
    skipped.push('Galera: it is not installed')
  }
  if (tier === 'all' && !hasChromium) skipped.push('the console in a browser: apt-get install chromium')

  const started = starting.move()
  return async () => {
    await started.disposeAsync()
    console.log(`\nEngines that ran:\n${list(ran)}\nSkipped:\n${list(skipped)}\n`)
  }
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `  - ${line}`).join('\n')
}
