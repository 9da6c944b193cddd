/** One PostgreSQL for a whole run, and a word at the end on which engines ran. */
import type { TestProject } from 'vitest/node'
import { startMariaDb } from './mariadb-server.ts'
import { startPgBouncer } from './pgbouncer.ts'
import { startPostgres } from './postgres-server.ts'

const sqliteEngines: Readonly<Record<string, string>> = {
  'sqlite-memory': 'SQLite in memory (better-sqlite3)',
  'sqlite-file': 'SQLite in files (better-sqlite3)',
  'node-sqlite': 'SQLite in files (node:sqlite)',
  testing: 'SQLite in memory (node:sqlite, by task-testing)',
}

export default async function setup({ vitest }: TestProject): Promise<() => Promise<void>> {
  // What `--project` left out did not run.
  const chosen = new Set(vitest.projects.map(({ name }) => name))
  const ran = Object.keys(sqliteEngines).flatMap((name) => (chosen.has(name) ? (sqliteEngines[name] ?? []) : []))
  const skipped = [
    'PostgreSQL 16 and 17: npm run test:containers -- --engine postgres:17 runs the suite in a container; TASKSTREAM_POSTGRES_URL=postgres://… npm test on a server of yours, in databases of its own',
  ]
  let stop = async (): Promise<void> => {}
  const given = process.env['TASKSTREAM_POSTGRES_URL']
  if (!['postgres-18', 'postgres-given', 'postgres-partitioned', 'pgbouncer', 'unit'].some((name) => chosen.has(name))) {
    skipped.push('PostgreSQL: left out by --project')
  } else if (given) {
    process.env['TASKSTREAM_POSTGRES_SERVER'] = given
    ran.push('PostgreSQL at TASKSTREAM_POSTGRES_URL')
  } else {
    try {
      const server = await startPostgres({ settings: { max_connections: '300' } })
      process.env['TASKSTREAM_POSTGRES_SERVER'] = server.url
      stop = server.stop
      ran.push(`PostgreSQL ${server.version}, from npm binaries`)
    } catch (error) {
      // On CI every engine that can be installed is required: a skip would read as covered.
      if (process.env['REQUIRE_POSTGRES'] || process.env['CI']) throw error
      skipped.push(`PostgreSQL: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  if (chosen.has('postgres-15')) {
    try {
      const oldest = await startPostgres({ release: 15, settings: { max_connections: '300' } })
      process.env['TASKSTREAM_POSTGRES_15_SERVER'] = oldest.url
      ran.push(`PostgreSQL ${oldest.version}, from npm binaries`)
      const stopNewest = stop
      stop = async () => {
        await oldest.stop()
        await stopNewest()
      }
    } catch (error) {
      if (process.env['REQUIRE_POSTGRES'] || process.env['CI']) throw error
      skipped.push(`PostgreSQL 15: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  const server = process.env['TASKSTREAM_POSTGRES_SERVER']
  if (chosen.has('pgbouncer') && server) {
    try {
      const pooler = await startPgBouncer(server)
      process.env['TASKSTREAM_PGBOUNCER'] = pooler.url
      ran.push(`PgBouncer ${pooler.version} in transaction mode, before that PostgreSQL`)
      const stopServer = stop
      stop = async () => {
        await pooler.stop()
        await stopServer()
      }
    } catch (error) {
      if (process.env['REQUIRE_PGBOUNCER']) {
        await stop()
        throw error
      }
      skipped.push(`PgBouncer: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  if (chosen.has('mysql')) ran.push('MySQL at TASKSTREAM_MYSQL_URL')
  else
    skipped.push(
      'MySQL: npm run test:containers -- --engine mysql runs the suite in a container; TASKSTREAM_MYSQL_URL=mysql://… npm test on a server of yours, in databases of its own',
    )
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
  return async () => {
    await stop()
    console.log(`\nEngines that ran:\n${list(ran)}\nSkipped:\n${list(skipped)}\n`)
  }
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `  - ${line}`).join('\n')
}
